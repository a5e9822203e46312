// Package memory keeps the memory of a server near its live heap.
package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcLeast is the least number of bytes that may be allocated between collections, bounded with
	// the shares to 20 to 200 % of the live heap. A few skills then need no collection, and a hundred
	// thousand no second copy of their memory.
	gcLeast = 10 << 20
	// gcPercent is the percentage of the live heap that may be allocated if that is more than gcLeast,
	// up to gcMost. The first scan of 100,000 skills would otherwise collect each 10 MiB, and look
	// through a growing heap each time.
	gcPercent, gcMost = 35, 16 << 20
	// gcShare is the number of bytes that each goroutine adds to that budget, until it and the live heap reach
	// softLimit. While thousands of clients connect, collections would otherwise follow one another,
	// and all calls would wait for them.
	gcShare = 8 << 10
	// softLimit is the number of bytes above which the runtime collects more often, in case a
	// flood of calls allocates faster than GOGC is adapted. It is at least twice the live heap. Stacks
	// are not part of it: no collection frees the memory of active connections.
	softLimit = 208 << 20
	// minReleased is how much the memory must have grown since its last release to be released.
	minReleased = 32 << 20
)

// Tune adapts GOGC to the live heap after each collection, unless the operator has set GOGC or
// GOMEMLIMIT in the environment.
func Tune(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		fitCollector(0, 0)
	}
}

// fitCollector fits GOGC to a live heap, and the limit to it and the stacks, at the start without
// measuring them, which costs.
func fitCollector(live, stacks uint64) {
	budget := min(max(gcLeast, live*gcPercent/100), gcMost) + min(gcShare*uint64(runtime.NumGoroutine()), max(softLimit, live)-live)
	debug.SetGCPercent(int(min(max(budget*100/max(live, 1), 20), 200)))
	debug.SetMemoryLimit(int64(max(2*live, softLimit) + stacks))
	runtime.AddCleanup(new(*int), func(now []metrics.Sample) { // runs after the next collection
		metrics.Read(now)
		fitCollector(now[0].Value.Uint64(), now[1].Value.Uint64())
	}, []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}})
}

// Release returns memory to the system after a flood of calls, until the context ends. By
// itself, the runtime would wait two minutes.
func Release(ctx context.Context) {
	for f := (footprint{}); ; f.release() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(15 * time.Second):
		}
	}
}

// footprint is the number of collections so far, and the bytes held after the last release.
type footprint struct{ collections, held uint64 }

// release collects garbage if much more memory is held than after the last release, and the
// program itself no longer collects. Little is in use then, even if much was live at the
// last collection.
func (f *footprint) release() {
	collections, held := measure()
	if collections == f.collections && held >= f.held+minReleased {
		debug.FreeOSMemory()
		collections, f.held = measure()
	}
	f.collections, f.held = collections, min(held, f.held)
}

func measure() (collections, held uint64) {
	now := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(now)
	return now[0].Value.Uint64(), now[1].Value.Uint64() - now[2].Value.Uint64()
}
