package web

import (
	"slices"
	"sync"

	"github.com/knack-dev/knack/catalog"
)

// maxLatest bounds the snapshots of which something is kept: those that subjects
// with different rights see are different ones.
const maxLatest = 8

// latest keeps what was computed of the snapshots that were asked for last. A view
// of somebody else is another snapshot, so that nobody is given what is another's.
type latest[T any] struct {
	mu   sync.Mutex
	kept []computed[T] // the latest last
}

type computed[T any] struct {
	of   *catalog.Snapshot
	have func() T
}

// get computes the value once for a snapshot; who comes meanwhile waits.
func (l *latest[T]) get(v catalog.View, compute func() T) T {
	l.mu.Lock()
	i := slices.IndexFunc(l.kept, func(c computed[T]) bool { return c.of == v.Snapshot })
	c := computed[T]{v.Snapshot, sync.OnceValue(compute)}
	if i >= 0 {
		c = l.kept[i]
		l.kept = slices.Delete(l.kept, i, i+1)
	}
	if l.kept = append(l.kept, c); len(l.kept) > maxLatest {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	l.mu.Unlock()
	return c.have()
}
