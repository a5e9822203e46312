package httpfetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// maxWait and maxWaits bound the waits that a server may request. After a longer wait, another
// request would also use up the quota of the next hour.
const (
	maxWait  = time.Minute
	maxWaits = 5
)

// ErrBusy matches the error for a server that requests a longer wait.
var ErrBusy = errors.New("the server asks to wait")

// errSilent and errLong are the errors of a stalled and a slow transfer.
var (
	errSilent = error(silence{})
	errLong   = errors.New("the transfer is too slow")
)

// silence is a [net.Error], like the error of a connection that times out.
type silence struct{}

func (silence) Error() string {
	return fmt.Sprintf("no byte has come for %d seconds", int(patience.Seconds()))
}
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

// Patiently sends a request. After a status 429 or 503 that asks for a wait of at most a minute, it
// waits and sends the request again. After five waits, or if the body cannot be sent again, it
// returns the last answer.
func Patiently(r *http.Request, send func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	for waits := 0; ; waits++ {
		resp, err := send(r)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		wait, ok := RetryAfter(resp.Header, time.Now())
		if !ok || wait > maxWait || waits == maxWaits || r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
			return resp, nil
		}
		_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
		resp.Body.Close()
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-r.Context().Done():
			timer.Stop()
			return nil, context.Cause(r.Context())
		}
		if r.GetBody != nil {
			r = r.Clone(r.Context())
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
}

// RetryAfter returns the wait in the Retry-After header, which has seconds or a date (RFC 9110,
// 10.2.3).
func RetryAfter(h http.Header, now time.Time) (wait time.Duration, ok bool) {
	text := h.Get("Retry-After")
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 { // some servers send fractions
		return time.Duration(min(n, 1<<30) * float64(time.Second)), true
	}
	at, err := http.ParseTime(text)
	return max(at.Sub(now), 0), err == nil
}

type endless struct{}

// Endless returns a context for a request whose answer is a stream. Such an answer may send nothing
// for a long time, and need not end.
func Endless(ctx context.Context) context.Context { return context.WithValue(ctx, endless{}, true) }

// send sends a request. Reading the answer fails if the server stops sending, unless the request is
// [Endless].
func (c *Client) send(r *http.Request) (*http.Response, error) {
	if r.Context().Value(endless{}) != nil {
		return c.base.RoundTrip(r)
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	b := &body{cancel: cancel}
	b.long = time.AfterFunc(maxTransfer, func() { b.end(errLong) })
	resp, err := c.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		b.stop()
		return nil, err
	}
	if resp.ContentLength >= 0 { // a small answer must not take as long as a large one
		b.long.Reset(min(maxTransfer, 5*time.Minute+time.Duration(resp.ContentLength/slowest)*time.Second))
	}
	b.in = resp.Body
	resp.Body = b
	return resp, nil
}

// body is the body of an answer. Read fails if the server stalls or is too slow.
type body struct {
	in     io.ReadCloser
	cancel context.CancelCauseFunc
	long   *time.Timer
	why    atomic.Pointer[error]
}

func (b *body) end(err error) {
	b.why.CompareAndSwap(nil, &err)
	b.cancel(err)
}

func (b *body) stop() {
	b.long.Stop()
	b.cancel(nil)
}

func (b *body) Read(p []byte) (int, error) {
	silent := time.AfterFunc(patience, func() { b.end(errSilent) })
	n, err := b.in.Read(p)
	silent.Stop()
	if why := b.why.Load(); why != nil && err != nil && !errors.Is(err, io.EOF) {
		err = *why
	}
	return n, err
}

func (b *body) Close() error {
	err := b.in.Close()
	b.stop()
	return err
}
