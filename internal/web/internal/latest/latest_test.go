package latest

import (
	"testing"

	"github.com/knack-dev/knack/catalog"
)

// viewOf returns a view of a new catalogue.
func viewOf(t *testing.T) catalog.View {
	t.Helper()
	c := catalog.New(nil, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestLatest checks that a value computed from one snapshot is not returned for
// another. It also checks that the value is computed only once while it is cached.
func TestLatest(t *testing.T) {
	var views []catalog.View
	for range Most + 1 {
		views = append(views, viewOf(t))
	}
	var l Cache[int]
	computed := 0
	get := func(i int) int {
		return l.Get(views[i], func() int { computed++; return i })
	}
	for range 3 {
		for i := range Most {
			if got := get(i); got != i {
				t.Errorf("view %d is given what is of %d", i, got)
			}
		}
	}
	if computed != Most {
		t.Errorf("computed %d times for %d views", computed, Most)
	}
	for range Most {
		get(0)
	}
	for i := range Most {
		get(i)
	}
	if computed != Most {
		t.Error("one that is asked for again and again takes the places of others")
	}
	get(Most)
	if get(1); computed != Most+1 {
		t.Error("one that was asked for lately is forgotten")
	}
	if get(0); computed != Most+2 {
		t.Error("the oldest is kept")
	}
}

// TestLatestBound checks that large values are dropped, except the newest.
func TestLatestBound(t *testing.T) {
	var views []catalog.View
	for range 4 {
		views = append(views, viewOf(t))
	}
	l := Cache[int]{Weigh: func(n int) int { return n }, MostWeight: 10}
	computed := ""
	for i, step := range []struct {
		view, weight int
		want         string // values computed so far
	}{
		{0, 5, "a"}, {1, 5, "ab"}, {0, 5, "ab"}, {1, 5, "ab"}, // both are kept
		{2, 1, "abc"}, {1, 5, "abc"}, {0, 5, "abca"}, // the third value displaced the oldest
		{3, 11, "abcad"}, {3, 11, "abcad"}, {1, 5, "abcadb"}, {3, 11, "abcadbd"},
	} {
		got := l.Get(views[step.view], func() int { computed += string(rune('a' + step.view)); return step.weight })
		if got != step.weight || computed != step.want {
			t.Errorf("step %d: view %d is given %d, computed %q, want %d and %q", i, step.view, got, computed, step.weight, step.want)
		}
	}
}
