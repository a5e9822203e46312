package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// How the collector is tuned. It would let the garbage grow in proportion to what
// lives; what an SDK's request leaves (about 385 KB) does not, so that a small heap
// has room for many of them, and a large one needs no more.
const (
	// softLimit is where the collector stops to trade memory: a thousand skills live
	// in some 10 MiB, five times that is the percentage's, and the rest is for a
	// request or a file of 16 MiB and its copies.
	softLimit = 128 << 20
	// roomy is the garbage that may grow beside what lives, within these percentages of
	// that. The lower is that of the first scan, which makes little that does not live.
	roomy               = 16 << 20
	leastRoom, mostRoom = 100, 400
)

// tuneCollector tunes the collector for the first scan, unless the operator has
// chosen; it reports whether it may.
func tuneCollector(env *Env) bool {
	if env.Getenv("GOGC") != "" || env.Getenv("GOMEMLIMIT") != "" {
		return false
	}
	debug.SetGCPercent(leastRoom)
	debug.SetMemoryLimit(softLimit)
	return true
}

// percentFor is the collector's percentage for what lives, in bytes.
func percentFor(live uint64) int {
	return int(min(max(roomy*100/max(live, 1), leastRoom), mostRoom))
}

// What giveBack keeps beyond twice what lives, and how often it looks: soon after
// the start, when the first answers are out, and then now and again.
const (
	spare     = 32 << 20
	giveFirst = time.Second
	giveEvery = 15 * time.Second
)

// giveBack returns to the system what a flood of calls or connections has left.
// The collector alone would keep it: it waits for the heap to grow, which it does
// not once the flood is over. Nor is what lives known then, only what lived at the
// last collection: where none came since the last look, one is made, once. With
// tune it fits the collector to what lives.
func giveBack(ctx context.Context, tune bool) {
	next := time.NewTimer(giveFirst)
	defer next.Stop()
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
	percent := leastRoom
	var seen, own uint64 // collections, at the last look and after the last of these
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
		}
		next.Reset(giveEvery)
		metrics.Read(held)
		taken, live, cycles := held[0].Value.Uint64()-held[1].Value.Uint64(), held[2].Value.Uint64(), held[3].Value.Uint64()
		if now := percentFor(live); tune && now != percent {
			debug.SetGCPercent(now)
			percent = now
		}
		idle := cycles == seen && cycles != own
		seen = cycles
		if taken > 2*live+spare || idle && taken > 2*spare {
			debug.FreeOSMemory()
			metrics.Read(held)
			seen = held[3].Value.Uint64()
			own = seen
		}
	}
}

// fitEvery is within the time that a flood of connections takes to come.
const fitEvery = 500 * time.Millisecond

// fitLimit lets the collector's limit grow with what no collection frees. Thousands
// of connections hold as much as [softLimit], in stacks above all; then the collector
// would run without a pause, look through all of them each time, and leave the calls
// of others half of the processors.
func fitLimit(ctx context.Context) {
	if debug.SetMemoryLimit(-1) != softLimit {
		return // the operator has chosen
	}
	tick := time.NewTicker(fitEvery)
	defer tick.Stop()
	held := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	for limit := int64(softLimit); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(held)
		if now := limitFor(limit, held[0].Value.Uint64(), held[1].Value.Uint64()); now != limit {
			debug.SetMemoryLimit(now) // stops everybody for a moment: seldom
			limit = now
		}
	}
}

// limitFor is the limit to have after limit: half as much again as what stays, and
// some room so that not every connection moves it.
func limitFor(limit int64, live, stacks uint64) int64 {
	switch want := int64(live+stacks) * 3 / 2; {
	case want <= softLimit && limit <= softLimit, want <= limit && want >= limit/2:
		return limit
	default:
		return max(softLimit, want*5/4)
	}
}
