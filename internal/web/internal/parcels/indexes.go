package parcels

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
)

// Indexes caches the indexes of the most recently used snapshots, each for a short time, since a
// file beside SKILL.md can change without a new snapshot. Clients with different rights have
// different snapshots.
type Indexes[T any] struct {
	// Age is the lifetime of an index, Weigh its size, and Most the total size of all but the
	// newest.
	Age   time.Duration
	Weigh func(T) int
	Most  int

	mu      sync.Mutex
	indexes []*index[T] // most recently used last
}

type index[T any] struct {
	snapshot *catalog.Snapshot
	gate     chan struct{} // held by the caller that makes the index
	value    T
	made     time.Time // zero before the first time
	weight   int
}

// maxIndexes is the maximum number of cached indexes.
const maxIndexes = 8

// Get returns the index of a snapshot. It calls make if the index is missing or old. Callers of
// one snapshot wait for each other.
func (x *Indexes[T]) Get(ctx context.Context, v catalog.View, make func() (T, error)) (T, error) {
	i := x.indexOf(v.Snapshot)
	var none T
	select {
	case i.gate <- struct{}{}:
		defer func() { <-i.gate }()
	case <-ctx.Done():
		return none, context.Cause(ctx)
	}
	if !i.made.IsZero() && time.Since(i.made) < x.Age {
		return i.value, nil
	}
	value, err := make()
	if err != nil {
		return none, err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	i.value, i.made, i.weight = value, time.Now(), x.Weigh(value)
	sum := 0
	for _, k := range x.indexes {
		sum += k.weight
	}
	for sum > x.Most && len(x.indexes) > 1 && x.indexes[0] != i {
		sum -= x.indexes[0].weight
		x.indexes = slices.Delete(x.indexes, 0, 1)
	}
	return value, nil
}

// indexOf returns the slot of a snapshot's index.
func (x *Indexes[T]) indexOf(s *catalog.Snapshot) *index[T] {
	x.mu.Lock()
	defer x.mu.Unlock()
	at := slices.IndexFunc(x.indexes, func(i *index[T]) bool { return i.snapshot == s })
	if at < 0 {
		if len(x.indexes) == maxIndexes {
			x.indexes = slices.Delete(x.indexes, 0, 1)
		}
		x.indexes = append(x.indexes, &index[T]{snapshot: s, gate: make(chan struct{}, 1)})
		return x.indexes[len(x.indexes)-1]
	}
	i := x.indexes[at]
	x.indexes = append(slices.Delete(x.indexes, at, at+1), i)
	return i
}
