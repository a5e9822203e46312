package skillsext

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The bounds of one answer of a server that is not trusted.
const (
	// MaxAnswer is its size in bytes, as it is after decompression: a file of 16 MiB in
	// base64, and room.
	MaxAnswer = 32 << 20
	// MaxValues is how many JSON values it holds, which take many times their bytes once
	// they are decoded. A page of 100 skills with 512 files each has 200,000.
	MaxValues = 1_000_000
	// AnswerTime is how long it takes, from the request to its last byte. A file of the
	// largest size, 22 MB in base64, then needs 3 Mbit a second.
	AnswerTime = time.Minute
)

// Bounded is a transport that bounds each answer in size, in values and in time. What
// is over a bound fails as soon as that is known.
type Bounded struct {
	Next http.RoundTripper
	// Time bounds one answer; zero is [AnswerTime].
	Time time.Duration
	// Exceeded, if set, is called with the reason when an answer is over a bound.
	Exceeded func(error)
}

// RoundTrip sends the request.
func (b *Bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	limit := b.Time
	if limit == 0 {
		limit = AnswerTime
	}
	late := fmt.Errorf("the answer was not complete after %s", limit)
	ctx, cancel := context.WithTimeoutCause(r.Context(), limit, late)
	resp, err := b.Next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		err = b.reason(ctx, late, err)
		cancel()
		return nil, err
	}
	resp.Body = &boundedBody{ReadCloser: resp.Body, of: b, ctx: ctx, cancel: cancel, late: late}
	return resp, nil
}

// reason is late if that ended the context, else err.
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

var (
	errAnswerSize   = fmt.Errorf("the answer is larger than %d MiB", MaxAnswer>>20)
	errAnswerValues = fmt.Errorf("the answer has more than %d JSON values", MaxValues)
)

// boundedBody counts what is read.
type boundedBody struct {
	io.ReadCloser
	of     *Bounded
	ctx    context.Context
	cancel context.CancelFunc
	late   error
	size   int
	values int
	quoted bool // in a JSON string
	escape bool // behind a backslash in one
	failed error
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.failed != nil {
		return 0, b.failed
	}
	n, err := b.ReadCloser.Read(p)
	b.size += n
	b.count(p[:n])
	switch {
	case b.size > MaxAnswer:
		b.failed = errAnswerSize
	case b.values > MaxValues:
		b.failed = errAnswerValues
	default:
		return n, b.of.reason(b.ctx, b.late, err)
	}
	b.of.exceeded(b.failed)
	return 0, b.failed
}

// count counts the values of JSON: each begins the text, or comes behind one of [ { ,
// that no string holds. No string of JSON goes over a line's end, behind which another
// event of a stream can begin.
func (b *boundedBody) count(p []byte) {
	for _, c := range p {
		switch {
		case b.escape:
			b.escape = false
		case c == '\n':
			b.quoted = false
		case c == '"':
			b.quoted = !b.quoted
		case b.quoted:
			b.escape = c == '\\'
		case c == ',' || c == '{' || c == '[':
			b.values++
		}
	}
}

// Close ends the request.
func (b *boundedBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
