package search_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/search"
	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/tools/genskills"
	"github.com/knack-dev/knack/skill"
)

// shelf is an index of generated skills, and queries for it.
type shelf struct {
	index   *search.Index[int]
	queries []string
}

var shelves = map[int]*shelf{}

func shelfOf(n int) *shelf {
	if s := shelves[n]; s != nil {
		return s
	}
	s := &shelf{queries: make([]string, 300)}
	r := rand.New(rand.NewPCG(uint64(n), 1))
	for i := range s.queries {
		s.queries[i] = ask(r, genskills.Options{Seed: 1, MainOnly: true}.At(r.IntN(n)))
	}
	s.index = indexOf(n)
	shelves[n] = s
	return s
}

func indexOf(n int) *search.Index[int] {
	keys := make([]int, n)
	for i := range keys {
		keys[i] = i
	}
	return new(search.Index[int]).Update(keys, func(places []int) (docs []search.Doc) {
		for _, i := range places {
			s := genskills.Options{Seed: 1, MainOnly: true}.At(i)
			docs = append(docs, search.Doc{Name: s.Name, Description: s.Description, Headings: skill.Headings(s.Files[0].Data, 200), Beginning: skill.Beginning(s.Files[0].Data, 600)})
		}
		return docs
	})
}

// ask returns a query of two to six words from a skill's name or description, in any order. About
// every third query has a wrong letter, and in about every fourth the last word is cut short.
func ask(r *rand.Rand, s genskills.Skill) string {
	words := strings.Fields(strings.ReplaceAll(s.Name, "-", " ") + " " + strings.TrimSuffix(s.Description, "."))
	r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
	words = words[:min(len(words), 2+r.IntN(5))]
	if w := words[0]; r.IntN(3) == 0 && len(w) > 4 {
		at := 1 + r.IntN(len(w)-2)
		words[0] = w[:at] + "q" + w[at+1:]
	}
	if w := words[len(words)-1]; r.IntN(4) == 0 && len(w) > 5 {
		words[len(words)-1] = w[:4]
	}
	return strings.Join(words, " ")
}

var sizes = []int{1_000, 10_000, 100_000}

// BenchmarkSearch reports the median and the 99th percentile of the queries' times, in
// milliseconds, beside the mean. The time of a query is the median of its rounds, so other load on
// the machine has little effect.
func BenchmarkSearch(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := shelfOf(n)
			rounds := make([][]float64, len(s.queries))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				q := i % len(s.queries)
				begin := time.Now()
				s.index.Search(s.queries[q], nil, search.Options{Limit: 10})
				rounds[q] = append(rounds[q], time.Since(begin).Seconds()*1000)
			}
			var times []float64
			for _, all := range rounds {
				if slices.Sort(all); len(all) > 0 {
					times = append(times, all[len(all)/2])
				}
			}
			slices.Sort(times)
			b.ReportMetric(times[len(times)/2], "p50-ms")
			b.ReportMetric(times[len(times)*99/100], "p99-ms")
		})
	}
}

// BenchmarkIndex measures the building of a new index, without the reading of documents.
func BenchmarkIndex(b *testing.B) {
	const n = 10_000
	docs := make([]search.Doc, n)
	keys := make([]int, n)
	for i := range docs {
		s := genskills.Options{Seed: 1, MainOnly: true}.At(i)
		docs[i] = search.Doc{Name: s.Name, Description: s.Description, Headings: skill.Headings(s.Files[0].Data, 200), Beginning: skill.Beginning(s.Files[0].Data, 600)}
		keys[i] = i
	}
	b.ReportAllocs()
	for b.Loop() {
		new(search.Index[int]).Update(keys, func(places []int) []search.Doc { return docs[places[0] : places[len(places)-1]+1] })
	}
}

// BenchmarkUpdate measures the replacement of ten of 10,000 documents.
func BenchmarkUpdate(b *testing.B) {
	x := shelfOf(10_000).index
	keys := slices.Clone(x.Keys())
	for i := range 10 {
		keys[i*997] = -i - 1
	}
	b.ReportAllocs()
	for b.Loop() {
		x.Update(keys, func(places []int) []search.Doc { return make([]search.Doc, len(places)) })
	}
}

// heapOf returns the bytes of live heap that an index of n skills takes, without its keys.
func heapOf(n int) float64 {
	before := live()
	x := indexOf(n)
	after := live()
	runtime.KeepAlive(x)
	return float64(after - min(before, after))
}

func live() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkHeap reports the memory that an index takes.
func BenchmarkHeap(b *testing.B) {
	for _, n := range sizes {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(heapOf(n)/1e6, "MB")
			}
		})
	}
}

// TestHeap checks that an index of 10,000 skills takes at most 8 MB.
func TestHeap(t *testing.T) {
	testwait.Slow(t)
	indexOf(100) // so that the memory of the generator's words is not counted
	if n := heapOf(10_000); n > 8e6 {
		t.Errorf("10,000 skills take %.1f MB", n/1e6)
	}
}

// TestAllocations checks that a search makes at most 60 allocations.
func TestAllocations(t *testing.T) {
	s := shelfOf(1_000)
	for _, q := range s.queries[:50] {
		s.index.Search(q, nil, search.Options{Limit: 10})
		if n := alloctest.Least(20, func() { s.index.Search(q, nil, search.Options{Limit: 10}) }); n > 60 {
			t.Errorf("%q: %v allocations", q, n)
		}
	}
}
