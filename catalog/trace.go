package catalog

import (
	"context"
	"sync"

	"github.com/knack-dev/knack/skill"
)

// Trace records the skill files that were read for one request.
type Trace struct {
	mu    sync.Mutex
	loads []Load
	fault error
}

// Load is a file of a skill whose bytes were read for a request.
type Load struct {
	URI    string       `json:"uri"` // of the file
	Digest skill.Digest `json:"digest"`
	Size   int          `json:"size"` // in bytes
}

type traceKey struct{}

// WithTrace returns a context with a Trace, which records everything that is read under that
// context.
func WithTrace(ctx context.Context) (context.Context, *Trace) {
	t := &Trace{}
	return context.WithValue(ctx, traceKey{}, t), t
}

// TraceOf returns the trace of the request that ctx belongs to, or nil if the request is not
// traced. The recording methods of a nil Trace do nothing.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// Got records that a request got the data at a URI.
func (t *Trace) Got(uri string, data []byte) {
	if t == nil {
		return
	}
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

// Failed records the error of reading a file for a request.
func (t *Trace) Failed(err error) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fault = err
}

// Loads returns the files that were read, each once, ordered by the last read. A nil Trace has
// none.
func (t *Trace) Loads() []Load {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.loads
}

// Fault returns the error of reading the last requested file. It is nil if the file was
// read, if no file was requested, or for a nil Trace.
func (t *Trace) Fault() error {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.fault
}
