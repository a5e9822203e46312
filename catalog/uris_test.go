package catalog

import (
	"reflect"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// TestBase checks that an entry's URI, and its comparison with another entry's, depend on
// the whole base, however that is split into parts.
func TestBase(t *testing.T) {
	none, a, ab := &skill.Root{}, &skill.Root{Prefix: "a"}, &skill.Root{Prefix: "a/b"}
	entries := []*Entry{
		{Root: none, Tail: "a"}, {Root: none, Tail: "a/b/c"}, {Root: a, Tail: "b/c"}, {Root: ab, Tail: "c"}, {Root: ab, Tail: "/a/b/c"},
		{Root: a, Tail: "x"}, {Root: ab, Tail: "/x"}, {Root: none, Tail: "x"}, {Root: none, Tail: "a/bc"}, {Root: a, Tail: "bc"}, {Root: a, Tail: "c"}, {Root: none, Tail: "a-b/c"},
	}
	for _, e := range entries {
		for _, o := range entries {
			if e.SameURI(o) != (e.Base() == o.Base()) {
				t.Errorf("%q and %q", e.Base(), o.Base())
			}
		}
		if uri := e.URI(); uri.Path() != e.Base()+"/SKILL.md" {
			t.Errorf("%q: %s", e.Base(), uri)
		}
	}
	if e := (&Entry{Root: a, Status: Skipped}); e.Base() != "" || e.URI() != (skill.URI{}) {
		t.Errorf("a skipped skill is at %q, %s", e.Base(), e.URI())
	}
}

// TestEntryIsSmall bounds the size of an Entry: there are many of them, in one slice for
// each root.
func TestEntryIsSmall(t *testing.T) {
	if n := reflect.TypeFor[Entry]().Size(); n > 72 {
		t.Errorf("an entry takes %d bytes, not 72", n)
	}
}
