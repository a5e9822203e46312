package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbage is the number of bytes that may be allocated between collections, bounded to
	// 20 to 200 % of the live heap. A few skills then need no collection, and a hundred
	// thousand no second copy of their memory.
	garbage = 16 << 20
	// spare is the memory beside what lives that giveBack leaves to every process.
	spare = 64 << 20
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
	debug.SetGCPercent(int(min(max(garbage*100/max(live[0].Value.Uint64(), 1), 20), 200)))
	runtime.AddCleanup(new(*int), fitCollector, struct{}{}) // runs after the next collection
}

// giveBack returns memory to the system after a flood of calls. The runtime alone would
// wait two minutes.
func giveBack(ctx context.Context) {
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
		if held[0].Value.Uint64() > held[1].Value.Uint64()+held[2].Value.Uint64()+spare {
			debug.FreeOSMemory()
		}
	}
}
