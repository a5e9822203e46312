package cli

import (
	"context"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
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
	// that. The upper is also that of the start, until it is known what lives: what a
	// thousand skills leave when they are read is less than collections need for their own
	// work.
	roomy               = 16 << 20
	leastRoom, mostRoom = 100, 400
	// scanRoom is that of a first scan which has come to a collection, until scanMost live.
	// It makes little that does not live, so that some more of them take little of the
	// processor, and it is then that a process takes the most memory.
	scanRoom = 25
	scanMost = 20 << 20
)

// collector is how the collector is tuned.
type collector struct {
	mu      sync.Mutex
	percent int
	fitted  bool // to what lives
}

// tuneCollector tunes the collector for the start, unless the operator has chosen: then
// it is nil, and stays as it is.
func tuneCollector(env *Env) *collector {
	if env.Getenv("GOGC") != "" || env.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	c := &collector{percent: mostRoom}
	debug.SetGCPercent(mostRoom)
	debug.SetMemoryLimit(softLimit)
	afterCollection(c.scanned)
	return c
}

// afterCollection calls f once, when a collection has ended.
func afterCollection(f func()) {
	type unused struct{ _ *int } // with a pointer: one without may share its place with others
	runtime.SetFinalizer(new(unused), func(*unused) { f() })
}

// scanned tunes it for the rest of the first scan, after each collection.
func (c *collector) scanned() {
	held := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(held)
	c.mu.Lock()
	defer c.mu.Unlock()
	switch live := held[0].Value.Uint64(); {
	case c.fitted:
	case live > scanMost:
		c.set(percentFor(live))
	default:
		c.set(scanRoom)
		afterCollection(c.scanned)
	}
}

// fit tunes it for what lives, in bytes.
func (c *collector) fit(live uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fitted = true
	c.set(percentFor(live))
}

func (c *collector) set(percent int) {
	if percent != c.percent {
		debug.SetGCPercent(percent) // stops everybody for a moment: seldom
		c.percent = percent
	}
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
// last collection: where none came since the last look, one is made, once. The
// collector is fitted to what lives.
func giveBack(ctx context.Context, tuned *collector) {
	next := time.NewTimer(giveFirst)
	defer next.Stop()
	held := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}, {Name: "/gc/heap/live:bytes"}, {Name: "/gc/cycles/total:gc-cycles"}}
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
		tuned.fit(live)
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
