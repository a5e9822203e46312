package catalog

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/skill"
)

// TestMergeReads checks which of two reads of a skill is kept. It also checks that a skill that a
// call found missing is forgotten. The test writes a skill as its path, the second of its read, and
// its digest.
func TestMergeReads(t *testing.T) {
	parse := func(texts string) (skills []cachedSkill) {
		for text := range strings.FieldsSeq(texts) {
			k := cachedSkill{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: text[:1], Entry: "SKILL.md"}, Size: 1, Digest: skill.DigestOf([]byte(text[2:]))}}
			if text[1] != '-' {
				at := time.Unix(int64(text[1]-'0'), 0)
				k.read = &at
			}
			skills = append(skills, k)
		}
		return skills
	}
	root := RootStatus{Root: skill.Root{Label: "r"}}
	c := New(nil, Options{})
	before := parse("b1x c7x d1x f7x g1x h1x")
	c.rebuild([]foundRoot{{status: root, skills: before}})
	c.gone[placeIn{root.Root, "g"}] = time.Unix(6, 0)
	c.gone[placeIn{root.Root, "h"}] = time.Unix(4, 0)
	found := []foundRoot{{status: root, skills: parse("a-x b-x c-y d-y f1x g-x h-x"), begun: time.Unix(5, 0)}}
	merged := func(found []foundRoot, want string) {
		t.Helper()
		c.mergeReads(found)
		if diff := cmp.Diff(parse(want), found[0].skills, cmp.AllowUnexported(cachedSkill{}), cmp.Comparer(func(a, b *skill.Skill) bool { return a.Path == b.Path && a.Digest == b.Digest })); diff != "" {
			t.Error(diff)
		}
	}
	merged(found, "a5x b5x c7x d5y f7x h5x")
	if found[0].skills[1].Skill != before[0].Skill {
		t.Error("a file that was read again without a change has another value")
	}
	if _, ok := c.gone[placeIn{root.Root, "g"}]; !ok || len(c.gone) != 1 {
		t.Errorf("gone: %v", c.gone)
	}
	c.rebuild(found)
	if k := c.cached(placeIn{root.Root, "d"}); !k.after(time.Unix(4, 0)) || k.after(time.Unix(5, 0)) || c.cached(placeIn{root.Root, "g"}).after(time.Time{}) {
		t.Error("when it was read")
	}
	// Skills read or found missing in one root do not affect another root with its label.
	root.Dir = "/other"
	merged([]foundRoot{{status: root, skills: parse("c-y g-y"), begun: time.Unix(5, 0)}}, "c5y g5y")
}
