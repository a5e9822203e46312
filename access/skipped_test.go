package access_test

import (
	"context"
	"path"
	"strings"
	"testing"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
)

// TestSkippedSkillsAreHiddenAsWhenServed checks that a subject that does not see a skill while it
// is served does not see it when it is skipped either, whatever the rule.
func TestSkippedSkillsAreHiddenAsWhenServed(t *testing.T) {
	text := func(name, description string) string {
		return "---\nname: " + name + "\n" + description + "---\n"
	}
	one, two := skilltest.New("one", skill.ScopeGlobal, nil), skilltest.New("dir-1", skill.ScopeGlobal, nil)
	two.In.Prefix = ""
	names := map[string]string{ // names of the skills of the root two, by folder
		"plain": "plain", "folder": "renamed", "in/folder": "other", "no name": "No Name", `ops\secret`: "Ops Secret", `ops\named`: "named", `in\a/b`: "b", `in\a/c`: "d",
		"a%5Cb": "A B", `a\b`: "A B", "one/taken": "taken", "one/free": "free", "one/folder": "moved", "C:x/y": "y",
	}
	reset := func() {
		for folder, name := range names {
			two.Put(folder+"/SKILL.md", text(name, "description: D.\n"))
		}
	}
	for _, name := range []string{"taken", "moved"} {
		one.Put(name+"/SKILL.md", text(name, "description: D.\n"))
	}
	c := catalog.New([]catalog.Source{one, two}, catalog.Options{})
	entries := func(f *catalog.Filter) map[string]*catalog.Entry {
		v, err := c.View(catalog.WithFilter(context.Background(), f))
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]*catalog.Entry{}
		for _, e := range v.Entries {
			if e.Root.Label == "dir-1" {
				all[e.Path] = e
			}
		}
		return all
	}
	refresh := func() {
		if err := c.Refresh(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	reset()
	refresh()
	policies := map[string]*access.Policy{}
	for _, e := range entries(nil) {
		at := strings.NewReplacer("%", "%25", " ", "%20").Replace(e.Base())
		first, _, _ := strings.Cut(at, "/")
		for _, text := range []string{at, first + "/**", path.Dir(at) + "/*", "*", "*/*", "**/" + path.Base(at), strings.TrimRight(at, "~") + "*", "dir-1/**"} {
			p, err := access.ParsePattern(skill.Scheme + strings.TrimPrefix(text, "./"))
			if err != nil {
				t.Fatal(text, err)
			}
			policies["allow "+p.String()] = access.NewPolicy(false, []access.Rule{{Allow: []access.Pattern{p}}})
			policies["deny "+p.String()] = access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{p}}})
		}
	}
	served := map[string]map[string]*catalog.Entry{}
	for rule, p := range policies {
		served[rule] = entries(p.Filter(access.Subject{}))
	}
	moved := 0
	for folder, e := range entries(nil) {
		if e.Tail != e.Path {
			moved++
		}
		for _, broken := range []string{text(names[folder], ""), "no frontmatter"} {
			reset()
			two.Put(folder+"/SKILL.md", broken)
			refresh()
			if e := entries(nil)[folder]; e == nil || e.Status != catalog.Skipped {
				t.Fatalf("%s is not skipped", folder)
			}
			for rule, p := range policies {
				if skipped := entries(p.Filter(access.Subject{}))[folder]; skipped != nil && served[rule][folder] == nil {
					t.Errorf("%s shows %q while it is skipped (%.20q), and hides %s", rule, folder, broken, e.URI())
				}
			}
		}
	}
	if moved < 10 {
		t.Errorf("only %d skills have another path than their folder's", moved)
	}
}
