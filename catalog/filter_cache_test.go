package catalog

import (
	"fmt"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/alloctest"
)

// halves returns the files of n skills. The names of the first half begin with "secret".
func halves(n int) (files []string) {
	for i := range n {
		word := "open"
		if i < n/2 {
			word = "secret"
		}
		name := fmt.Sprintf("%s-%d", word, i)
		files = append(files, name+"/SKILL.md", text(name, "d"))
	}
	return files
}

// TestFewFiltersAreKept checks that a snapshot caches its views for a few filters, and drops
// views that were not used for long.
func TestFewFiltersAreKept(t *testing.T) {
	c := catalogOf(t, source("a", halves(4)...))
	whole := view(t, c)
	through := func(s *Filter) *Snapshot { return whole.through(s) }
	often, first := without("secret"), without("secret")
	cached, gone := through(often), through(first)
	for range 2 * maxFiltered {
		through(without("secret"))
		if through(often) != cached {
			t.Fatal("what is asked for often was made again")
		}
	}
	if n := len(whole.filtered.snapshots); n != maxFiltered {
		t.Errorf("%d are kept of %d", n, 2*maxFiltered+2)
	}
	if again := through(first); again == gone || len(again.Listed) != len(gone.Listed) {
		t.Errorf("what nobody asked for is still kept, or is made otherwise: %d and %d", len(again.Listed), len(gone.Listed))
	}
}

// TestKeepDropsTheOldest checks that Keep caches the newest values, whose keys clients choose, and
// no more than maxKept of them.
func TestKeepDropsTheOldest(t *testing.T) {
	var s Snapshot
	for i := range 2 * maxKept {
		Keep(&s, i, func() string { return "kept" })
		if got := Keep(&s, i, func() string { return "made again" }); got != "kept" {
			t.Fatalf("value %d was %s", i, got)
		}
	}
	n := len(*s.values.Load())
	if n != maxKept || Keep(&s, 0, func() string { return "made again" }) != "made again" {
		t.Errorf("%d are kept of %d, or the oldest is", n, 2*maxKept)
	}
}

// TestFilterCostsNothingForEachSkill checks that a narrowed snapshot shares the entries and
// maps of the whole. It allocates a few arrays, and nothing for each skill.
func TestFilterCostsNothingForEachSkill(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures thousands of skills")
	}
	allocs := func(n int) float64 {
		whole := view(t, catalogOf(t, source("a", halves(n)...)))
		return alloctest.Least(5, func() { whole.narrow(without("nothing")) })
	}
	if few, lots := allocs(100), allocs(3200); lots > few+32 {
		t.Errorf("%.0f allocations for 3,200 skills, and %.0f for 100", lots, few)
	}
}

// TestIndexAhead checks that the index is made without a search, whether IndexAhead is
// called before the first refresh or after it.
func TestIndexAhead(t *testing.T) {
	for _, before := range []bool{true, false} {
		c := New([]Source{source("a", halves(4)...)}, Options{})
		if before {
			c.IndexAhead()
		}
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		if c.current.Load().indexing.begun.Load() != before {
			t.Fatalf("asked before %t, and begun is not so", before)
		}
		c.IndexAhead()
		select {
		case <-c.current.Load().indexing.done:
		case <-time.After(time.Minute):
			t.Fatal("no index")
		}
	}
}
