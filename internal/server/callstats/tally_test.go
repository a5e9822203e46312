package callstats

import (
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestCalls checks that calls that end at once are all counted, each in the buckets of its
// duration and above.
func TestCalls(t *testing.T) {
	var c Calls
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			c.Done("b", false, 0)
			c.Done("b", true, time.Millisecond)
			c.Done("a", true, time.Millisecond+1)
			c.Done("b", false, time.Minute)
		})
	}
	all.Wait()
	counts, times := c.Now()
	if diff := cmp.Diff([]Count{{"a", "error", 100}, {"b", "error", 100}, {"b", "ok", 200}}, counts); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	want := []Time{
		{"a", [9]uint64{0, 0, 100, 100, 100, 100, 100, 100, 100}, 100*time.Millisecond + 100},
		{"b", [9]uint64{100, 200, 200, 200, 200, 200, 200, 200, 300}, 100*time.Minute + 100*time.Millisecond},
	}
	if diff := cmp.Diff(want, times); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := testing.AllocsPerRun(100, func() { c.Done("a", false, time.Second) }); n > 0 {
		t.Errorf("a call of a known method makes %v allocations", n)
	}
}

func BenchmarkDone(b *testing.B) {
	var c Calls
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			begun := time.Now()
			c.Done("tools/call", false, time.Since(begun))
		}
	})
}
