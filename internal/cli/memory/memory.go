// Package memory keeps the memory use of a server close to its live heap.
package memory

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcLeast is the minimum number of bytes that may be allocated between two collections. The
	// shares of the live heap, 20 to 200 %, still bound it. With a few skills there is then no
	// collection, and a hundred thousand skills need no second copy of their memory.
	gcLeast = 10 << 20
	// gcPercent is the percentage of the live heap that may be allocated between two collections if
	// that is more than gcLeast. gcMost bounds it. Otherwise the first scan of 100,000 skills would
	// start a collection after each 10 MiB, and each would go through a larger heap.
	gcPercent, gcMost = 35, 16 << 20
	// gcShare is the number of bytes that each goroutine adds to this budget. These bytes and the
	// live heap together do not exceed softLimit. Without them, collections would follow one
	// another while thousands of clients connect, and all calls would wait for them.
	gcShare = 8 << 10
	// softLimit is the number of bytes above which the runtime collects more often. It helps if a
	// flood of calls allocates faster than GOGC is adapted. The limit is at least twice the live
	// heap. Stacks are added to it, since no collection frees the memory of active connections.
	softLimit = 208 << 20
	// minReleased is the minimum growth, in bytes, after which memory is returned to the system.
	minReleased = 32 << 20
)

// Tune adapts GOGC to the live heap after each collection, unless the operator has set GOGC or
// GOMEMLIMIT in the environment.
func Tune(getenv func(string) string) {
	if getenv("GOGC") == "" && getenv("GOMEMLIMIT") == "" {
		fitCollector(0, 0)
	}
}

// fitCollector sets GOGC for the size of the live heap, and the memory limit for the live heap and
// the stacks. The first call, at the start, passes 0 for both, since measuring them takes time.
func fitCollector(live, stacks uint64) {
	budget := min(max(gcLeast, live*gcPercent/100), gcMost) + min(gcShare*uint64(runtime.NumGoroutine()), max(softLimit, live)-live)
	debug.SetGCPercent(int(min(max(budget*100/max(live, 1), 20), 200)))
	debug.SetMemoryLimit(int64(max(2*live, softLimit) + stacks))
	runtime.AddCleanup(new(*int), func(now []metrics.Sample) { // runs after the next collection
		metrics.Read(now)
		fitCollector(now[0].Value.Uint64(), now[1].Value.Uint64())
	}, []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}})
}

// Release returns memory to the system after a flood of calls. It runs until the context ends. The
// runtime alone would wait two minutes.
func Release(ctx context.Context) {
	for f := (footprint{}); ; f.release() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(15 * time.Second):
		}
	}
}

// footprint is the number of collections so far, and the bytes in use after the last release.
type footprint struct{ collections, inUse uint64 }

// release returns memory to the system if the process is idle: no collection has run since the last
// check. It does so only if much more memory is in use than after the last release. Little of that
// memory is then live, even if much was live at the last collection.
func (f *footprint) release() {
	collections, inUse := measure()
	if collections == f.collections && inUse >= f.inUse+minReleased {
		debug.FreeOSMemory()
		collections, f.inUse = measure()
	}
	f.collections, f.inUse = collections, min(inUse, f.inUse)
}

func measure() (collections, inUse uint64) {
	now := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(now)
	return now[0].Value.Uint64(), now[1].Value.Uint64() - now[2].Value.Uint64()
}
