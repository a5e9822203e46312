package catalog

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// many returns a source of n skills of ordinary size. Each has a description of 276
// characters and 5.8 kB in all, the median of skills written by hand.
func many(n int) *memory {
	m := source("a")
	body := strings.Repeat("A line of the body of the skill.\n", 165)
	for i := range n {
		m.write(fmt.Sprintf("group%d/skill-%d/SKILL.md", i%7, i), text(fmt.Sprintf("skill-%d", i), "Does thing number "+fmt.Sprint(i)+". "+strings.Repeat("Use it when asked. ", 13))+body)
	}
	return m
}

func BenchmarkBuild1000(b *testing.B) {
	c := catalogOf(b, many(1000))
	found := c.current.Load().basis()
	b.ReportAllocs()
	for b.Loop() {
		build(found)
	}
}

func BenchmarkNamed(b *testing.B) {
	v := view(b, catalogOf(b, many(1000)))
	for _, name := range []string{"skill-500", "Skill-500", "a:skill-500", "no-such-skill"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				v.Named(name)
			}
		})
	}
}

func BenchmarkNear(b *testing.B) {
	v := view(b, catalogOf(b, many(1000)))
	b.ReportAllocs()
	for b.Loop() {
		v.Near("skil-500", 3)
	}
}

// BenchmarkSearch measures a whole search. Package search measures its index at full size.
func BenchmarkSearch(b *testing.B) {
	v := view(b, catalogOf(b, many(1000)))
	q := Query{Text: "thing number 500", Limit: 10}
	b.ReportAllocs()
	for b.Loop() {
		if found, err := v.Search(b.Context(), q); err != nil || found.Hits[0].Name != "skill-500" {
			b.Fatal(found, err)
		}
	}
}

// liveHeap returns the heap in use after garbage collection, in bytes.
func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// heapOf returns the live heap of n skills, without the heap of an empty catalogue.
func heapOf(tb testing.TB, n int) uint64 {
	tb.Helper()
	m := many(n)
	empty := New([]Source{source("a")}, Options{})
	if err := empty.Refresh(context.Background()); err != nil {
		tb.Fatal(err)
	}
	before := liveHeap()
	c := catalogOf(tb, m)
	after := liveHeap()
	runtime.KeepAlive(c)
	runtime.KeepAlive(m)
	return after - min(before, after)
}

// TestHeapOf100 checks a bound of contract 002: 100 skills take under 10 MB of live heap.
func TestHeapOf100(t *testing.T) {
	if n := heapOf(t, 100); n > 10_000_000 {
		t.Errorf("100 skills cost %d bytes", n)
	}
}
