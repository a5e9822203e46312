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

// The longest wait that a server may ask for, and the largest number of waits. Asking again sooner
// than a longer wait would use up the quota of the next hour too.
const (
	maxWait  = time.Minute
	maxWaits = 5
)

// ErrBusy is the category of the errors about a server that asks for a longer wait.
var ErrBusy = errors.New("the server asks to wait")

// errSilent is the error of a transfer that has stopped.
var (
	errSilent = error(silence{})
	errLong   = errors.New("the transfer is too slow")
)

// silence is a [net.Error], as the failure of a connection that times out is.
type silence struct{}

func (silence) Error() string {
	return fmt.Sprintf("no byte has come for %d seconds", int(patience.Seconds()))
}
func (silence) Timeout() bool   { return true }
func (silence) Temporary() bool { return true }

// waiting sends a request, and again after an answer 429 or 503 that says how long to wait.
func (c *Client) waiting(r *http.Request) (*http.Response, error) {
	for waits := 0; ; waits++ {
		resp, err := c.send(r)
		if err != nil || resp.StatusCode != http.StatusTooManyRequests && resp.StatusCode != http.StatusServiceUnavailable {
			return resp, err
		}
		wait, ok := retryAfter(resp.Header.Get("Retry-After"), time.Now())
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

// retryAfter reads the header: seconds, or a date (RFC 9110, 10.2.3).
func retryAfter(text string, now time.Time) (time.Duration, bool) {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second, true
	}
	at, err := http.ParseTime(text)
	return max(at.Sub(now), 0), err == nil
}

// send sends a request whose answer ends if the server stops.
func (c *Client) send(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	b := &body{cancel: cancel}
	b.long = time.AfterFunc(maxTransfer, func() { b.end(errLong) })
	resp, err := c.base.RoundTrip(r.WithContext(ctx))
	if err != nil {
		b.stop()
		return nil, err
	}
	if resp.ContentLength >= 0 { // a small answer that trickles must not last as long as a large one
		b.long.Reset(min(maxTransfer, 5*time.Minute+time.Duration(resp.ContentLength/slowest)*time.Second))
	}
	b.in = resp.Body
	resp.Body = b
	return resp, nil
}

// body is an answer that is read while bytes come.
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
