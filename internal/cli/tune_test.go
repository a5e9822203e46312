package cli

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

// TestRoomFor: garbage has room that does not grow with what lives.
func TestRoomFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 2 << 20: 400, 8 << 20: 200, 16 << 20: 100, 1 << 30: 100} {
		if got := roomFor(live, leastRoom); got != want {
			t.Errorf("%d MiB live: %d %%, not %d", live>>20, got, want)
		}
	}
	for live, want := range map[uint64]int{2 << 20: 400, 16 << 20: 100, 20 << 20: 80, 32 << 20: 100, 64 << 20: 50, 80 << 20: 40, 96 << 20: 16, 112 << 20: 15, 200 << 20: 15} {
		if got := buildRoomFor(live); got != want {
			t.Errorf("%d MiB live while something is made: %d %%, not %d", live>>20, got, want)
		}
	}
}

// TestCollector: the first collection fits the collector to the scan, unless it is
// fitted to what lives by then, and an operator's choice stands.
func TestCollector(t *testing.T) {
	was, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(-1)
	defer func() { debug.SetGCPercent(was); debug.SetMemoryLimit(limit) }()
	// It only looks: what sets and sets back would undo what is set in between.
	now := func() int {
		held := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(held)
		return int(held[0].Value.Uint64())
	}
	env := func(set map[string]string) *Env {
		return &Env{Getenv: func(name string) string { return set[name] }}
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		c := tuneCollector(env(map[string]string{name: "90"}))
		c.fit(1 << 20)
		if c != nil || now() != 77 || debug.SetMemoryLimit(-1) != limit {
			t.Errorf("%s is set, and the collector is tuned: %d %%", name, now())
		}
	}
	runtime.GC() // the next one is far
	c := tuneCollector(env(nil))
	if now() != mostRoom || debug.SetMemoryLimit(-1) != softLimit {
		t.Errorf("at the start: %d %%, limit %d", now(), debug.SetMemoryLimit(-1))
	}
	for range 1000 {
		runtime.GC()
		if now() == scanRoom {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if now() != scanRoom {
		t.Errorf("after a collection: %d %%, want %d", now(), scanRoom)
	}
	if c.fit(8 << 20); now() != 200 {
		t.Errorf("with 8 MiB that live: %d %%, want 200", now())
	}
	if c.collected(); now() != 200 {
		t.Errorf("a collection after that makes it %d %%", now())
	}
	// Something is made of much that lives.
	if c.fit(200 << 20); now() != leastRoom {
		t.Errorf("with 200 MiB that live: %d %%, want %d", now(), leastRoom)
	}
	end := c.build()
	if now() != buildRoom {
		t.Errorf("while an index is made: %d %%, want %d", now(), buildRoom)
	}
	if c.fit(200 << 20); now() != buildRoom {
		t.Errorf("who looks meanwhile makes it %d %%", now())
	}
	end()
	if c.fit(200 << 20); now() != leastRoom {
		t.Errorf("when it is made: %d %%, want %d", now(), leastRoom)
	}
	live := make([]byte, 200<<20)
	for range 1000 {
		runtime.GC()
		if debug.SetMemoryLimit(-1) > int64(len(live)) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if got := debug.SetMemoryLimit(-1); got < int64(len(live)) {
		t.Errorf("with 200 MiB that live the limit is %d MiB", got>>20)
	}
	runtime.KeepAlive(live)
}
