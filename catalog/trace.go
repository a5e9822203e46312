package catalog

import (
	"context"
	"sync"

	"github.com/knack-dev/knack/skill"
)

// Trace records what one request asked for, and which skill files it got, for a caller
// that keeps a request log.
type Trace struct {
	mu    sync.Mutex
	asked string
	loads []Load
	fault error
}

// Load is a file of a skill whose bytes were read for a request.
type Load struct {
	URI    string // of the file
	Digest skill.Digest
	Size   int
}

type traceKey struct{}

// WithTrace returns a context with a Trace, which records everything that is requested
// and read under that context.
func WithTrace(ctx context.Context) (context.Context, *Trace) {
	t := &Trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Ask records which skill or file a request is about, by its URI or name, whether or
// not it exists.
func Ask(ctx context.Context, asked string) {
	if t := traceOf(ctx); t != nil {
		t.mu.Lock()
		t.asked = asked
		t.mu.Unlock()
	}
}

// Gave records that a request got the data at a URI, if that was not read through a
// [View].
func Gave(ctx context.Context, uri skill.URI, data []byte) {
	if t := traceOf(ctx); t != nil {
		t.add(uri.String(), data)
	}
}

// Asked returns what the request was about, or "" if [Ask] was not called.
func (t *Trace) Asked() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// Loads returns the files that were read, each once, ordered by the last read.
func (t *Trace) Loads() []Load {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loads
}

// Fault returns the error of reading the last requested file. It is nil if the file was
// read, or if no file was requested.
func (t *Trace) Fault() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fault
}

func (t *Trace) add(uri string, data []byte) {
	digest := skill.DigestOf(data)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = nil
	for i, l := range t.loads {
		if l.URI == uri { // it was read before
			t.loads = append(t.loads[:i:i], t.loads[i+1:]...)
			break
		}
	}
	t.loads = append(t.loads, Load{uri, digest, len(data)})
}

// Traced records that a file of a skill was read for a request, or the error of the
// read. [View.Read] and [View.ReadFile] call it themselves.
func Traced(ctx context.Context, e *Entry, path string, data []byte, err error) {
	t := traceOf(ctx)
	if t == nil {
		return
	}
	if err != nil {
		t.mu.Lock()
		t.fault = err
		t.mu.Unlock()
		return
	}
	at := e.Place() // a skipped skill has no URI, but contract 000 still reads it
	if uri, err := e.FileURI(path); err == nil && e.Status != Skipped {
		at = uri.String()
	}
	t.add(at, data)
}
