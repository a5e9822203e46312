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
	mu     sync.Mutex
	values []*computed[T] // most recently used last
}

type computed[T any] struct {
	snapshot *catalog.Snapshot
	have     func() T
}

// Get returns the value for a snapshot, which is computed once. Concurrent callers wait for it.
func (l *Cache[T]) Get(v catalog.View, compute func() T) T {
	l.mu.Lock()
	i := slices.IndexFunc(l.values, func(c *computed[T]) bool { return c.snapshot == v.Snapshot })
	c := &computed[T]{snapshot: v.Snapshot, have: sync.OnceValue(compute)}
	if i >= 0 {
		c = l.values[i]
		l.values = slices.Delete(l.values, i, i+1)
	}
	if l.values = append(l.values, c); len(l.values) > Most {
		l.values = slices.Delete(l.values, 0, 1)
	}
	l.mu.Unlock()
	return c.have()
}
