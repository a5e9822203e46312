package memory

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

// TestTune checks that the percentage follows the live heap, and that the
// operator's choice is kept.
func TestTune(t *testing.T) {
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
	collectWhile := func(p uint64) {
		for end := time.Now().Add(time.Minute); percent() == p && time.Now().Before(end); {
			runtime.GC() // a cleanup runs some time after its collection
			runtime.Gosched()
		}
	}
	live := make([]byte, 128<<20)
	Tune(func(string) string { return "" })
	if got := percent(); got != 200 {
		t.Errorf("at the start: %d %%, not 200", got)
	}
	if got := debug.SetMemoryLimit(-1); got != softLimit {
		t.Errorf("at the start the limit is %d bytes, not %d", got, softLimit)
	}
	if collectWhile(200); percent() != 20 {
		t.Errorf("with 128 MiB that live: %d %%, not 20", percent())
	}
	if got := debug.SetMemoryLimit(-1); got < 256<<20 {
		t.Errorf("with 128 MiB that live, the limit is %d bytes", got)
	}
	stop := make(chan struct{})
	var clients sync.WaitGroup
	for range 128 << 20 / gcShare {
		clients.Go(func() { <-stop })
	}
	if collectWhile(20); percent() < 90 || percent() > 110 {
		t.Errorf("with 128 MiB that live and a goroutine for each %d KiB of them: %d %%, not about 100", gcShare>>10, percent())
	}
	close(stop)
	clients.Wait()
	if collectWhile(percent()); percent() != 20 {
		t.Errorf("after these have ended: %d %%, not 20", percent())
	}
	runtime.KeepAlive(live)
	live = nil
	collectWhile(20)
	if got := percent(); got <= 20 {
		t.Errorf("after a collection with little that lives: %d %%", got)
	}
}

// TestReleaseMemory checks that what a flood held is returned once it is over, even if it
// lived at the last collection, and that a process that needs its memory does not collect.
func TestReleaseMemory(t *testing.T) {
	var f footprint
	flood := make([]byte, 2*minReleased)
	runtime.GC()
	f.release()
	during, before := measure()
	runtime.KeepAlive(flood)
	flood = nil
	if f.release(); f.held > before-minReleased {
		t.Errorf("%d MiB are held of %d", f.held>>20, before>>20)
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

// TestReleaseWaits checks that no memory is returned while the program collects by itself.
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
