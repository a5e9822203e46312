package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// gcBudget is the number of bytes that may be allocated between collections, bounded to
	// 20 to 200 % of the live heap. A few skills then need no collection, and a hundred
	// thousand no second copy of their memory.
	gcBudget = 10 << 20
	// minReleased is how much more memory than it once needed makes releaseMemory collect.
	minReleased = 32 << 20
)

// tuneCollector adapts GOGC to the live heap after each collection, unless the operator has
// set GOGC or GOMEMLIMIT.
func tuneCollector(env *Env) {
	if env.Getenv("GOGC") == "" && env.Getenv("GOMEMLIMIT") == "" {
		fitCollector(struct{}{})
	}
}

func fitCollector(struct{}) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(int(min(max(gcBudget*100/max(live[0].Value.Uint64(), 1), 20), 200)))
	runtime.AddCleanup(new(*int), fitCollector, struct{}{}) // runs after the next collection
}

// releaseMemory returns memory to the system after a flood of calls. The runtime alone would
// wait two minutes.
func releaseMemory(ctx context.Context) {
	tick := time.NewTicker(15 * time.Second)
	defer tick.Stop()
	for least := uint64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			least = release(least)
		}
	}
}

// release collects if the process holds much more than the least that it has needed, and
// returns the new least. What lived at the last collection is no measure: that may have been
// in the midst of the flood.
func release(least uint64) uint64 {
	if now := heldMemory(); now < least+minReleased {
		return min(now, least)
	}
	debug.FreeOSMemory()
	return heldMemory()
}

func heldMemory() uint64 {
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(held)
	return held[0].Value.Uint64() - held[1].Value.Uint64()
}
