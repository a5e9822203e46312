package web

import (
	"sync"

	"github.com/knack-dev/knack/catalog"
)

// latest keeps what was computed of one snapshot, the one asked for last. The key
// is what a view sees: when views differ by who asks, so must the key.
type latest[T any] struct {
	mu   sync.Mutex
	of   *catalog.Snapshot
	have T
}

// get computes the value once for a snapshot; who comes meanwhile waits.
func (l *latest[T]) get(v catalog.View, compute func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of != v.Snapshot {
		l.have, l.of = compute(), v.Snapshot
	}
	return l.have
}
