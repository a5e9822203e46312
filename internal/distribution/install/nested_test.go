package install_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
)

// TestNested checks that a skill within another skill is installed with the outer skill. --all does
// not install the inner skill again. A command that names the inner skill reports the outer skill.
// The inner skill can also be installed separately, in another folder.
func TestNested(t *testing.T) {
	w := newWorld(t, "folder")
	main := func(name string) string { return "---\nname: " + name + "\ndescription: Does it.\n---\n" }
	put(t, filepath.Join(w.dir, "source", "skills"), map[string]string{
		"outer/SKILL.md": main("outer"), "outer/sub/inner/SKILL.md": main("inner"), "outer/sub/inner/x": "x",
		"outer/.hidden/far/SKILL.md": main("far"), // not installed with outer
		"pdf/SKILL.md":               main("pdf"),
	})
	add := func(o install.Options, q install.Request) *install.Plan {
		t.Helper()
		q.Sources = []string{w.source}
		p, err := w.planAdd(o, q)
		must(t, err)
		return p
	}
	p := add(w.options(), install.Request{All: true})
	var done []string
	for _, s := range p.Steps {
		done = append(done, s.Name+" "+string(s.Do)+" "+strings.Join(s.With, ","))
	}
	slices.Sort(done)
	if diff := cmp.Diff([]string{"far added ", "outer added inner", "pdf added "}, done); diff != "" {
		t.Error(diff)
	}
	skills := filepath.Join(w.project(), ".agents", "skills")
	if got := files(t, skills); got["outer/sub/inner/x"] != "x" || got["inner/SKILL.md"] != "" {
		t.Errorf("%v", got)
	}
	verified := func(names ...string) *install.Plan {
		t.Helper()
		p, err := w.planVerify(w.options(), names)
		must(t, err)
		return p
	}
	if p := verified(); p.Outcome() != install.Done || len(p.Steps) != 3 {
		t.Errorf("verify: %v", p.Outcome())
	}
	if p := verified("inner"); p.Outcome() != install.No || p.Steps[0].Problem.Fix != "it is within the skill outer, and is installed with that: name that one" {
		t.Errorf("verify inner: %+v", p.Steps[0].Problem)
	}
	put(t, skills, map[string]string{"outer/sub/inner/x": "mine"})
	if p := verified(); p.Outcome() != install.No {
		t.Error("a change of the inner skill was not seen")
	}
	put(t, skills, map[string]string{"outer/sub/inner/x": "x"})

	// No folder in the lock is within another folder in the lock.
	o := w.options()
	o.To = filepath.Join(skills, "outer")
	if p := add(o, install.Request{Skills: []string{"inner"}}); p.Outcome() != install.No || !strings.Contains(p.Steps[0].Problem.Error(), "would be within that of the installed skill outer") {
		t.Errorf("within: %+v", p.Steps[0])
	}
	put(t, filepath.Join(w.dir, "source"), map[string]string{"more/agents/SKILL.md": main("skills")})
	o.To = filepath.Join(w.project(), ".agents")
	if p := add(o, install.Request{Skills: []string{"skills"}}); p.Outcome() != install.No || !strings.Contains(p.Steps[0].Problem.Error(), "another skill in its place") {
		t.Errorf("around: %+v", p.Steps[0])
	}
	o.Overwrite = true
	if p := add(o, install.Request{Skills: []string{"skills"}}); p.Outcome() != install.No || !strings.Contains(p.Steps[0].Problem.Error(), "would be around that of the installed skill") {
		t.Errorf("around: %+v", p.Steps[0])
	}
	if p := add(w.options(), install.Request{Skills: []string{"inner"}}); p.Outcome() != install.Done || p.Steps[0].Do != install.Write {
		t.Errorf("alone: %+v", p.Steps[0])
	}
	if p := verified(); p.Outcome() != install.Done || len(p.Steps) != 4 {
		t.Errorf("verify: %v", p.Outcome())
	}
}
