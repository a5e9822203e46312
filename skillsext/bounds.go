package skillsext

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/knack-dev/knack/internal/base/rawjson"
)

// Bounds on one answer of an untrusted server.
const (
	// maxAnswer bounds the size of an answer in bytes after decompression, unless the caller sets
	// another bound. It has room for a file of 16 MiB in Base64.
	maxAnswer = 32 << 20
	// maxValues bounds the JSON values in an answer, which need much more memory decoded than
	// encoded. A page of 100 skills with 512 files each has 200,000 values.
	maxValues = 1_000_000
	// answerTime bounds the time from the request to the last byte of its answer. With it, the
	// largest file, 22 MB in Base64, needs 3 Mbit a second.
	answerTime = time.Minute
)

// Bounded is a transport that bounds each answer in size, in values and in time. Reading
// fails as soon as a bound is exceeded.
type Bounded struct {
	Next http.RoundTripper
	// Time bounds one answer. Zero means a minute.
	Time time.Duration
	// Size bounds one answer in bytes after decompression. Zero means 32 MiB.
	Size int
	// Exceeded, if set, is called with the reason when an answer is over a bound.
	Exceeded func(error)
}

// RoundTrip sends the request.
func (b *Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := cmp.Or(b.Time, answerTime)
	late := fmt.Errorf("the answer was not complete after %s", limit)
	ctx, cancel := context.WithTimeoutCause(r.Context(), limit, late)
	resp, err := b.Next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		err = b.reason(ctx, late, err)
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, bounded: b, ctx: ctx, cancel: cancel, late: late}
	return resp, nil
}

// reason returns late if the timeout ended the context, and reports it to Exceeded. Otherwise, or
// if err is nil or io.EOF, it returns err.
func (b *Bounded) reason(ctx context.Context, late, err error) error {
	if err == nil || errors.Is(err, io.EOF) || !errors.Is(context.Cause(ctx), late) {
		return err
	}
	b.exceeded(late)
	return late
}

func (b *Bounded) exceeded(err error) {
	if b.Exceeded != nil {
		b.Exceeded(err)
	}
}

// answerSize is the error for an answer that is too large. Its value is the bound, in bytes.
type answerSize int

func (most answerSize) Error() string {
	return fmt.Sprintf("the answer is larger than %d MiB", int(most)>>20)
}

var errAnswerValues = fmt.Errorf("the answer has more than %d JSON values", maxValues)

// boundedBody counts the bytes and values that are read.
type boundedBody struct {
	io.ReadCloser
	bounded *Bounded
	ctx     context.Context
	cancel  context.CancelFunc
	late    error
	size    int
	values  rawjson.Counter
	failed  error
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.ReadCloser.Read(p)
	b.size += n
	b.values.Add(p[:n])
	switch most := cmp.Or(b.bounded.Size, maxAnswer); {
	case b.size > most:
		b.failed = answerSize(most)
	case b.values.Values > maxValues:
		b.failed = errAnswerValues
	default:
		return n, b.bounded.reason(b.ctx, b.late, err)
	}
	b.bounded.exceeded(b.failed)
	return 0, b.failed
}

// Close ends the request.
func (b *boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
