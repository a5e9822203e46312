package web

import (
	"testing"

	"github.com/knack-dev/knack/catalog"
)

// TestLatest: what was computed of one snapshot is given to nobody who sees
// another, and is computed once while it is among the latest.
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
	get(maxLatest)
	if get(1); computed != maxLatest+1 {
		t.Error("one that was asked for lately is forgotten")
	}
	if get(0); computed != maxLatest+2 {
		t.Error("the oldest is kept")
	}
}
