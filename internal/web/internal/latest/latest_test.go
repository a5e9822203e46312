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
