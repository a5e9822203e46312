package catalog

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/skill"
)

// TestCache checks that newly read skills replace the cached ones, and that skills that are
// gone are forgotten.
func TestCache(t *testing.T) {
	of := func(path string) *skill.Skill { return &skill.Skill{Bundle: &skill.Bundle{Path: path}} }
	c := New(nil, Options{})
	store := func(label, paths string, n int64) {
		read := time.Unix(n, 0)
		for _, path := range strings.Fields(paths) {
			c.store(label, cachedSkill{of(path), &read})
		}
	}
	is := func(want string) {
		t.Helper()
		var got []string
		for _, path := range slices.Sorted(maps.Keys(c.cache["r"])) {
			got = append(got, path+string(rune('0'+c.cache["r"][path].read.Unix())))
		}
		if have := strings.Join(got, " "); have != want {
			t.Errorf("%q, not %q", have, want)
		}
	}
	store("r", "b d f", 1)
	store("r", "a d e g", 2)
	is("a2 b1 d2 e2 f1 g2")
	store("other", "a", 1)
	if k := c.cache["r"]["d"]; !k.after(time.Unix(1, 0)) || k.after(time.Unix(2, 0)) || (cachedSkill{}).after(time.Time{}) {
		t.Error("when it was read")
	}
	var found []*skill.Skill
	for _, path := range strings.Fields("0 a c d g z") {
		found = append(found, of(path))
	}
	c.evictAllBut([]foundRoot{{status: RootStatus{Root: skill.Root{Label: "r"}}, skills: found}})
	is("a2 d2 g2")
	if len(c.cache) != 1 {
		t.Errorf("%d roots are cached", len(c.cache))
	}
}
