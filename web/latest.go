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
	// weigh, if set, is what a value takes: the oldest go while all together take more
	// than most.
	weigh func(T) int
	most  int

	mu   sync.Mutex
	kept []*computed[T] // the latest last
}

type computed[T any] struct {
	of     *catalog.Snapshot
	have   func() T
	weight int // 0 until it is computed
}

// get computes the value once for a snapshot; who comes meanwhile waits.
func (l *latest[T]) get(v catalog.View, compute func() T) T {
	l.mu.Lock()
	i := slices.IndexFunc(l.kept, func(c *computed[T]) bool { return c.of == v.Snapshot })
	c := &computed[T]{of: v.Snapshot, have: sync.OnceValue(compute)}
	if i >= 0 {
		c = l.kept[i]
		l.kept = slices.Delete(l.kept, i, i+1)
	}
	if l.kept = append(l.kept, c); len(l.kept) > maxLatest {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	l.mu.Unlock()
	value := c.have()
	if l.weigh != nil {
		l.bound(c, l.weigh(value))
	}
	return value
}

// bound notes what a value takes, and lets the oldest go where that is too much. The
// newest stays, whatever it takes.
func (l *latest[T]) bound(c *computed[T], weight int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c.weight = weight
	sum := 0
	for _, c := range l.kept {
		sum += c.weight
	}
	for sum > l.most && len(l.kept) > 1 {
		sum -= l.kept[0].weight
		l.kept = slices.Delete(l.kept, 0, 1)
	}
}
