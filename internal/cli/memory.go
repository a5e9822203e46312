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
	gcBudget = 16 << 20
	// minReleased is the memory that releaseMemory leaves to every process.
	minReleased = 64 << 20
)

// tuneCollector adapts GOGC to the live heap after each collection, unless the operator has
// set GOGC or GOMEMLIMIT.
func tuneCollector(env *Env) {
	if env.Getenv("GOGC") == "" && env.Getenv("GOMEMLIMIT") == "" {
		fitCollector(0)
	}
}

func fitCollector(was int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int(min(max(gcBudget*100/max(live[0].Value.Uint64(), 1), 20), 200))
	if percent != was {
		debug.SetGCPercent(percent) // stops every goroutine for a moment
	}
	collected := new(*int) // unreachable from here on: the next collection finds it
	runtime.AddCleanup(collected, fitCollector, percent)
}

// releaseMemory returns memory to the system after a flood of calls: it collects when no
// collection ran for 15 s. The runtime alone would wait two minutes.
func releaseMemory(ctx context.Context) {
	var seen, own uint64 // the number of collections at the last tick, and after the last releaseMemory
	held := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(15 * time.Second):
		}
		metrics.Read(held)
		cycles := held[0].Value.Uint64()
		if cycles == seen && cycles != own && held[1].Value.Uint64()-held[2].Value.Uint64() > minReleased {
			debug.FreeOSMemory()
			metrics.Read(held)
			cycles = held[0].Value.Uint64()
			own = cycles
		}
		seen = cycles
	}
}
