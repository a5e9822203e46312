package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

const (
	// garbage is how many bytes of it may grow beside what lives, between 20 and 200 % of
	// that: a few skills need no collection to be read, and a hundred thousand no second
	// copy of their memory.
	garbage = 16 << 20
	// spare is the memory that giveBack leaves to every process.
	spare = 64 << 20
)

// tuneCollector fits the collector to what lives, after each collection, unless the
// operator has set GOGC or GOMEMLIMIT.
func tuneCollector(env *Env) {
	if env.Getenv("GOGC") == "" && env.Getenv("GOMEMLIMIT") == "" {
		fitCollector(0)
	}
}

func fitCollector(was int) {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	percent := int(min(max(garbage*100/max(live[0].Value.Uint64(), 1), 20), 200))
	if percent != was {
		debug.SetGCPercent(percent) // stops every goroutine for a moment
	}
	collected := new(*int) // unreachable from here on: the next collection finds it
	runtime.AddCleanup(collected, fitCollector, percent)
}

// giveBack returns to the system what a flood of calls has left: once no collection was
// needed for 15 s, it makes one. The runtime alone would wait two minutes.
func giveBack(ctx context.Context) {
	var seen, own uint64 // collections at the last look, and with the last of these
	held := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(15 * time.Second):
		}
		metrics.Read(held)
		cycles := held[0].Value.Uint64()
		if cycles == seen && cycles != own && held[1].Value.Uint64()-held[2].Value.Uint64() > spare {
			debug.FreeOSMemory()
			metrics.Read(held)
			cycles = held[0].Value.Uint64()
			own = cycles
		}
		seen = cycles
	}
}
