package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// TestKnown checks that newly read skills replace the known ones, in path order, and that
// skills that are gone are forgotten.
func TestKnown(t *testing.T) {
	at := func(n int) *time.Time { t := time.Unix(int64(n), 0); return &t }
	of := func(paths string) (all []*skill.Skill) {
		for _, p := range strings.Fields(paths) {
			all = append(all, &skill.Skill{Bundle: &skill.Bundle{Path: p}})
		}
		return all
	}
	read := func(paths string, n int) (all []cachedSkill) {
		for _, s := range of(paths) {
			all = append(all, cachedSkill{s, at(n)})
		}
		return all
	}
	c := New(nil, Options{})
	is := func(want string) {
		t.Helper()
		var got []string
		for _, k := range c.cache["r"] {
			got = append(got, k.path()+string(rune('0'+k.read.Unix())))
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("%q, not %q", have, want)
		}
	}
	c.store("r", read("b d f", 1))
	is("b1 d1 f1")
	c.store("r", nil)
	c.store("r", read("a d e g", 2))
	is("a2 b1 d2 e2 f1 g2")
	c.store("r", read("e", 3))
	is("a2 b1 d2 e3 f1 g2")
	c.store("other", read("a", 1))
	order := cacheCursor(c.cache["r"])
	for path, want := range map[string]bool{"": false, "a": true, "c": false, "g": true, "h": false} {
		if got := c.cachedAt(place{"r", path}); (got.skill != nil) != want {
			t.Errorf("%q: %v", path, got)
		}
	}
	for _, path := range []string{"a", "c", "d", "g", "h"} {
		if got, want := order.at(path), c.cachedAt(place{"r", path}); got != want {
			t.Errorf("%q in order: %v, not %v", path, got, want)
		}
	}
	if k := c.cachedAt(place{"r", "d"}); !k.after(time.Unix(1, 0)) || k.after(time.Unix(2, 0)) || (cachedSkill{}).after(time.Time{}) {
		t.Error("when it was read")
	}
	c.evictAllBut([]foundRoot{{status: RootStatus{Root: skill.Root{Label: "r"}}, skills: of("0 a c d g z")}})
	is("a2 d2 g2")
	if len(c.cache) != 1 {
		t.Errorf("%d roots are known", len(c.cache))
	}
}
