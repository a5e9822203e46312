package catalog

import (
	"context"
	"sync"

	"github.com/knack-dev/knack/skill"
)

// Trace is what one request asked for, and what it was given of skills, for
// whoever keeps account of it.
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

// WithTrace has everything traced that is asked for and read under the context it
// returns.
func WithTrace(ctx context.Context) (context.Context, *Trace) {
	t := &Trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Ask says which skill or file a request is about, by its URI or name, whether or
// not there is one.
func Ask(ctx context.Context, asked string) {
	if t := traceOf(ctx); t != nil {
		t.mu.Lock()
		t.asked = asked
		t.mu.Unlock()
	}
}

// Gave says that a request was given what is under a URI, where that was not read
// through a [View].
func Gave(ctx context.Context, uri skill.URI, data []byte) {
	if t := traceOf(ctx); t != nil {
		t.add(uri.String(), data)
	}
}

// Asked is what the request was about; empty where nobody said.
func (t *Trace) Asked() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.asked
}

// Loads are what was read, each file once, in the order in which it was last read.
func (t *Trace) Loads() []Load {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loads
}

// Fault is why the last file that was asked for could not be read; nil where it
// was, or where none was.
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
		if l.URI == uri { // read again since it changed
			t.loads = append(t.loads[:i:i], t.loads[i+1:]...)
			break
		}
	}
	t.loads = append(t.loads, Load{uri, digest, len(data)})
}

// Traced notes that a file of a skill was read for a request, or why it could not
// be, where it was not read through a [View].
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
	at := e.Place() // a skipped skill has no URI, and contract 000 reads it all the same
	if uri, err := e.FileURI(path); err == nil && e.Status != Skipped {
		at = uri.String()
	}
	t.add(at, data)
}
