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
	// minReleased is the memory, beside the live heap, from which on releaseMemory collects.
	minReleased = 64 << 20
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
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(held)
		if held[0].Value.Uint64() > held[1].Value.Uint64()+held[2].Value.Uint64()+minReleased {
			debug.FreeOSMemory()
		}
	}
}
