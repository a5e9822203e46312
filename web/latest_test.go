package web

import (
	"testing"

	"github.com/knack-dev/knack/catalog"
)

// TestLatest checks that a value computed from one snapshot is not returned for
// another. It also checks that the value is computed only once while it is cached.
func TestLatest(t *testing.T) {
	var views []catalog.View
	for range maxLatest + 1 {
		views = append(views, here(t, "").view)
	}
	var l latest[int]
	computed := 0
	get := func(i int) int {
		return l.get(views[i], func() int { computed++; return i })
	}
	for range 3 {
		for i := range maxLatest {
			if got := get(i); got != i {
				t.Errorf("view %d is given what is of %d", i, got)
			}
		}
	}
	if computed != maxLatest {
		t.Errorf("computed %d times for %d views", computed, maxLatest)
	}
	for range maxLatest {
		get(0)
	}
	for i := range maxLatest {
		get(i)
	}
	if computed != maxLatest {
		t.Error("one that is asked for again and again takes the places of others")
	}
	get(maxLatest)
	if get(1); computed != maxLatest+1 {
		t.Error("one that was asked for lately is forgotten")
	}
	if get(0); computed != maxLatest+2 {
		t.Error("the oldest is kept")
	}
}

// TestLatestBound checks that large values are dropped, except the newest.
func TestLatestBound(t *testing.T) {
	var views []catalog.View
	for range 4 {
		views = append(views, here(t, "").view)
	}
	l := latest[int]{weigh: func(n int) int { return n }, most: 10}
	computed := ""
	for i, step := range []struct {
		view, weight int
		want         string // values computed so far
	}{
		{0, 5, "a"}, {1, 5, "ab"}, {0, 5, "ab"}, {1, 5, "ab"}, // both are kept
		{2, 1, "abc"}, {1, 5, "abc"}, {0, 5, "abca"}, // the third value displaced the oldest
		{3, 11, "abcad"}, {3, 11, "abcad"}, {1, 5, "abcadb"}, {3, 11, "abcadbd"},
	} {
		got := l.get(views[step.view], func() int { computed += string(rune('a' + step.view)); return step.weight })
		if got != step.weight || computed != step.want {
			t.Errorf("step %d: view %d is given %d, computed %q, want %d and %q", i, step.view, got, computed, step.weight, step.want)
		}
	}
}
