package catalog

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// A book that grows finds what a map finds, and nothing else.
func TestBook(t *testing.T) {
	for _, room := range []int{0, 3, 1000} {
		b := newKeyBook(room)
		var entries []*Entry
		for i := range 1000 {
			entries = append(entries, &Entry{Key: skill.Key(fmt.Sprint(i))})
		}
		for i, e := range entries {
			if got := b.findKey(entries, e.Key); got != nil {
				t.Fatalf("%d: found before it was taken in", i)
			}
			b.add(entries, i)
			if i%97 != 0 {
				continue
			}
			for k, e := range entries {
				want := e
				if k > i {
					want = nil
				}
				if got := b.findKey(entries, e.Key); got != want {
					t.Fatalf("of %d, %d is %v, want %v", i, k, got, want)
				}
			}
		}
		for _, other := range []string{"", "1000", "-1"} {
			if got := b.findKey(entries, skill.Key(other)); got != nil {
				t.Errorf("%q finds %v", other, got)
			}
		}
	}
	if got := (&book{}).findKey(nil, "x"); got != nil {
		t.Errorf("an empty book finds %v", got)
	}
}

// The parts of which a base is made do not tell it apart: what is found by its text is
// what is called so, and no two are taken in with one text.
func TestBookOfBases(t *testing.T) {
	none, a, ab := &skill.Root{}, &skill.Root{Prefix: "a"}, &skill.Root{Prefix: "a/b"}
	entries := []*Entry{
		{Root: none, Tail: "a"}, {Root: none, Tail: "a/b/c"}, {Root: a, Tail: "b/c"}, {Root: ab, Tail: "c"}, {Root: ab, Tail: "/a/b/c"},
		{Root: a, Tail: "x"}, {Root: ab, Tail: "/x"}, {Root: none, Tail: "x"}, {Root: none, Tail: "a/bc"}, {Root: a, Tail: "bc"}, {Root: a, Tail: "c"}, {Root: none, Tail: "a-b/c"},
	}
	for _, room := range []int{0, len(entries)} {
		b, first := newBaseBook(room), map[string]*Entry{}
		for i, e := range entries {
			for _, o := range entries {
				if e.SameURI(o) != (e.Base() == o.Base()) || e.hasBase(o.Base()) != (e.Base() == o.Base()) {
					t.Errorf("%q and %q", e.Base(), o.Base())
				}
			}
			if got := b.add(entries, i); got != first[e.Base()] {
				t.Errorf("%q is taken in beside %v", e.Base(), got)
			}
			if first[e.Base()] == nil {
				first[e.Base()] = e
			}
			if uri := e.URI(); uri.Path() != e.Base()+"/SKILL.md" {
				t.Errorf("%q: %s", e.Base(), uri)
			}
		}
		for _, text := range []string{"", "a", "a/", "a/b", "a/b/c", "a/b/c/", "a/x", "x", "/x", "a/bc", "a/c", "c", "bc"} {
			if got := b.findBase(entries, text); got != first[text] {
				t.Errorf("%q finds %v", text, got)
			}
		}
	}
	if e := (&Entry{Root: a, Status: Skipped}); e.Base() != "" || e.URI() != (skill.URI{}) {
		t.Errorf("a skipped skill is at %q, %s", e.Base(), e.URI())
	}
}

// There are many entries, side by side.
func TestEntryIsSmall(t *testing.T) {
	if n := reflect.TypeFor[Entry]().Size(); n > 72 {
		t.Errorf("an entry takes %d bytes, not 72", n)
	}
}
