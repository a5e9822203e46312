package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// tuned reports whether TestTune has run.
var tuned atomic.Bool

// TestTune checks that the percentage follows the live heap, and that Tune respects the operator's
// setting.
func TestTune(t *testing.T) {
	if tuned.Swap(true) {
		t.Skip("the collector of this process is fitted already, for good: see -count")
	}
	was := debug.SetGCPercent(77)
	defer debug.SetGCPercent(was)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	percent := func() uint64 {
		now := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(now)
		return now[0].Value.Uint64()
	}
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		Tune(func(n string) string { return map[string]string{name: "90"}[n] })
		if got := percent(); got != 77 {
			t.Errorf("%s is set, and the collector has %d %%", name, got)
		}
	}
	// becomes collects garbage until the percentage is in a range, and the limit is not below
	// least.
	becomes := func(when string, low, high uint64, least int64) {
		t.Helper()
		for end := time.Now().Add(time.Minute); time.Now().Before(end); runtime.Gosched() {
			runtime.GC() // cleanups run some time after a collection
			if p := percent(); low <= p && p <= high && debug.SetMemoryLimit(-1) >= least {
				return
			}
		}
		t.Errorf("%s: %d %%, not %d to %d, and the limit is %d MiB, of %d", when, percent(), low, high, debug.SetMemoryLimit(-1)>>20, least>>20)
	}
	live := make([]byte, 40<<20)
	Tune(func(string) string { return "" })
	if got := percent(); got != 200 {
		t.Errorf("at the start: %d %%, not 200", got)
	}
	if got := debug.SetMemoryLimit(-1); got != softLimit {
		t.Errorf("at the start the limit is %d bytes, not %d", got, softLimit)
	}
	becomes("with 40 MiB that live", 33, 35, softLimit)
	runtime.KeepAlive(live)
	live = make([]byte, 128<<20)
	becomes("with 128 MiB that live", 20, 20, 256<<20)
	stop := make(chan struct{})
	var clients sync.WaitGroup
	add := func(n int) {
		for range n {
			clients.Go(func() { <-stop })
		}
	}
	add(32 << 20 / gcShare)
	becomes("with 128 MiB that live, and goroutines for 32", 34, 38, 256<<20)
	add(128 << 20 / gcShare)
	becomes("with 128 MiB that live, and goroutines for more than the 80 up to the limit, and 40 of stacks", 50, 72, 290<<20)
	close(stop)
	clients.Wait()
	becomes("after these have ended", 20, 20, 256<<20)
	runtime.KeepAlive(live)
	live = nil
	becomes("with little that lives", 21, 200, softLimit)
}

// TestReleaseMemory checks that memory is returned after a flood, even if it was live at the last
// collection. A process that still needs its memory must not collect.
func TestReleaseMemory(t *testing.T) {
	var f footprint
	flood := make([]byte, 2*minReleased)
	runtime.GC()
	f.release()
	during, before := measure()
	runtime.KeepAlive(flood)
	flood = nil
	if f.release(); f.inUse > before-minReleased {
		t.Errorf("%d MiB are held of %d", f.inUse>>20, before>>20)
	}
	if f.collections == during {
		t.Error("no collection has run")
	}
	needed := make([]byte, 2*minReleased)
	runtime.GC()
	for range 3 {
		f.release()
	}
	after := f.collections
	for range 3 {
		f.release()
	}
	if f.collections != after {
		t.Error("a process that holds no more than it needs collects")
	}
	runtime.KeepAlive(needed)
}

// TestReleaseWaits checks that no memory is returned while the runtime collects by itself.
func TestReleaseWaits(t *testing.T) {
	var f footprint
	flood := make([]byte, 2*minReleased)
	for range 3 {
		runtime.GC()
		before, _ := measure()
		if f.release(); f.collections != before {
			t.Error("a busy process is made to collect")
		}
	}
	runtime.KeepAlive(flood)
}
