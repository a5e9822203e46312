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
	// request or a file of 16 MiB and its copies. Where more lives, it grows.
	softLimit = 128 << 20
	// roomy is the garbage that may grow beside what lives, within these percentages of
	// that. The upper is also that of the start, until it is known what lives: what a
	// thousand skills leave when they are read is less than collections need for their own
	// work.
	roomy               = 16 << 20
	leastRoom, mostRoom = 100, 400
	// scanRoom is that of a first scan which has come to a collection, until scanMost live:
	// each collection looks through all that lives. buildRoom is the least while skills are
	// read for the first time or indexed, which makes little that does not live, so that some
	// more collections take little of the processor; it is then that a process takes the most
	// memory.
	scanRoom  = 100
	buildRoom = 15
	scanMost  = 20 << 20
	// wide is the garbage that may grow meanwhile where more than wideLeast lives, as long as
	// the heap stays below wideMost: a library of which so much lives comes to more than
	// that with its index, and collections on the way there take time and save nothing.
	wide      = 32 << 20
	wideLeast = 30 << 20
	wideMost  = 112 << 20
)

// collector is how the collector is tuned. It looks at what lives after each
// collection.
type collector struct {
	mu      sync.Mutex
	percent int
	limit   int64
	live    uint64
	fitted  bool // to what lives
	builds  int  // under way
}

// tuneCollector tunes the collector for the start, unless the operator has chosen: then
// it is nil, and stays as it is.
func tuneCollector(env *Env) *collector {
	if env.Getenv("GOGC") != "" || env.Getenv("GOMEMLIMIT") != "" {
		return nil
	}
	c := &collector{percent: mostRoom, limit: softLimit}
	debug.SetGCPercent(mostRoom)
	debug.SetMemoryLimit(softLimit)
	afterCollection(c.collected)
	return c
}

// afterCollection calls f once, when a collection has ended.
func afterCollection(f func()) {
	type unused struct{ _ *int } // with a pointer: one without may share its place with others
	runtime.SetFinalizer(new(unused), func(*unused) { f() })
}

// collected tunes it after a collection. The limit grows with what no collection
// frees: a hundred thousand skills, or the stacks of thousands of connections, hold as
// much as [softLimit], at which the collector would run without a pause, look through
// all of it each time, and leave everybody else half of the processors.
func (c *collector) collected() {
	held := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	metrics.Read(held)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.live = held[0].Value.Uint64()
	if now := limitFor(c.limit, c.live, held[1].Value.Uint64()); now != c.limit {
		debug.SetMemoryLimit(now) // stops everybody for a moment: seldom
		c.limit = now
	}
	switch {
	case !c.fitted && c.live <= scanMost:
		c.set(scanRoom)
	case c.builds > 0 || !c.fitted:
		c.set(buildRoomFor(c.live))
	}
	afterCollection(c.collected)
}

// build keeps the garbage small while something large is made, until end is called,
// the first time until [collector.fit] after it.
func (c *collector) build() (end func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.builds++
	if c.fitted && c.live > scanMost {
		c.set(min(c.percent, buildRoomFor(c.live)))
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.builds--
		if c.builds == 0 && c.fitted {
			c.set(roomFor(c.live, leastRoom))
		}
	}
}

// fit tunes it for calls and for what lives, in bytes, unless something is being made.
func (c *collector) fit(live uint64) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.builds == 0 {
		c.fitted, c.live = true, live
		c.set(roomFor(live, leastRoom))
	}
}

func (c *collector) set(percent int) {
	if percent != c.percent {
		debug.SetGCPercent(percent) // stops everybody for a moment: seldom
		c.percent = percent
	}
}

// roomFor is the collector's percentage for what lives, in bytes.
func roomFor(live uint64, least int) int {
	return int(min(max(roomy*100/max(live, 1), uint64(least)), mostRoom))
}

// buildRoomFor is it while something large is made.
func buildRoomFor(live uint64) int {
	room := roomFor(live, buildRoom)
	if live > wideLeast && live < wideMost {
		room = max(room, int(min(wide, wideMost-live)*100/live))
	}
	return room
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
