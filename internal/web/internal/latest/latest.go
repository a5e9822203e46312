// Package latest caches values that are computed from a snapshot.
package latest

import (
	"slices"
	"sync"

	"github.com/knack-dev/knack/catalog"
)

// Most is the maximum number of snapshots with cached values. Subjects with
// different rights see different snapshots.
const Most = 8

// Cache caches values computed from the most recently used snapshots. Clients with
// different rights have different snapshots, so that no client gets a value computed
// for another.
type Cache[T any] struct {
	mu   sync.Mutex
	kept []*computed[T] // most recently used last
}

type computed[T any] struct {
	of   *catalog.Snapshot
	have func() T
}

// Get returns the value for a snapshot, which is computed once. Concurrent callers wait for it.
func (l *Cache[T]) Get(v catalog.View, compute func() T) T {
	l.mu.Lock()
	i := slices.IndexFunc(l.kept, func(c *computed[T]) bool { return c.of == v.Snapshot })
	c := &computed[T]{of: v.Snapshot, have: sync.OnceValue(compute)}
	if i >= 0 {
		c = l.kept[i]
		l.kept = slices.Delete(l.kept, i, i+1)
	}
	if l.kept = append(l.kept, c); len(l.kept) > Most {
		l.kept = slices.Delete(l.kept, 0, 1)
	}
	l.mu.Unlock()
	return c.have()
}
