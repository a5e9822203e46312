package install_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
)

// TestProjectAsSource checks that a project as a source has its own skills, but not the skills that
// are installed in it. An installed skill can be its own source only if it is not locked.
func TestProjectAsSource(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	before := files(t, w.project())
	text := strings.ReplaceAll(old["SKILL.md"], "name: pdf", "name: own")
	add := func(source string) *install.Plan {
		t.Helper()
		p, err := w.planAdd(w.options(), install.Request{Sources: []string{source}, All: true})
		must(t, err)
		return p
	}
	for _, source := range []string{w.project(), filepath.Join(w.project(), ".agents"), filepath.Join(w.project(), ".agents", "skills"), w.place()} {
		p := add(source)
		if p.Outcome() != install.No {
			t.Errorf("%s: %v", source, p.Outcome())
		}
		if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
	put(t, w.project(), map[string]string{"sources/own/SKILL.md": text})
	if p := add(w.project()); len(p.Steps) != 1 || p.Steps[0].Entry.Path != "sources/own" || p.Steps[0].Do != install.Write {
		t.Errorf("the project's own skill: %+v", p.Steps[0])
	}
	own := filepath.Join(w.project(), ".agents", "skills", "mine")
	put(t, own, map[string]string{"SKILL.md": strings.ReplaceAll(text, "name: own", "name: mine")})
	if p := add(own); p.Outcome() != install.Done || p.Steps[0].Do != install.Record {
		t.Errorf("a skill that is not locked: %+v", p.Steps[0])
	}
}

// TestRemoveKeepsOwnSkill checks that remove keeps the files of a skill whose source is its own
// folder, since no other copy of them exists.
func TestRemoveKeepsOwnSkill(t *testing.T) {
	for _, source := range []string{".agents/skills/pdf", ".agents/skills"} {
		w := newWorld(t, "folder")
		put(t, w.place(), old)
		before := files(t, w.place())
		_, err := w.planAdd(w.options(), install.Request{Sources: []string{filepath.Join(w.project(), source)}, All: true})
		must(t, err)
		p, err := w.remove(w.options())
		must(t, err)
		if s := p.Steps[0]; s.Do != install.Delete || s.Kept == "" {
			t.Errorf("%s: %+v", source, s)
		} else if diff := cmp.Diff(before, files(t, s.Kept)); diff != "" {
			t.Errorf("%s: %s", source, diff)
		}
	}
}

// TestReplaceKeepsOwnSkill checks that the files of a skill that is its own source are kept when a
// skill of another source replaces it.
func TestReplaceKeepsOwnSkill(t *testing.T) {
	w := newWorld(t, "folder")
	put(t, w.place(), old)
	before := files(t, w.place())
	other := filepath.Join(w.dir, "other", "pdf")
	put(t, other, map[string]string{"SKILL.md": old["SKILL.md"] + "Other.\n"})
	var last *install.Plan
	for _, source := range []string{w.place(), other} {
		o := w.options()
		o.Overwrite = source == other
		var err error
		last, err = w.planAdd(o, install.Request{Sources: []string{source}, All: true})
		must(t, err)
	}
	if s := last.Steps[0]; s.Do != install.Replace || s.Kept == "" {
		t.Errorf("%+v", s)
	} else if diff := cmp.Diff(before, files(t, s.Kept)); diff != "" {
		t.Error(diff)
	}
}

// TestSyncMakesExecutable checks that sync makes a script executable again, with a warning, and
// then has nothing to do. A file that the user made executable stays so.
func TestSyncMakesExecutable(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no executable bits")
	}
	w := newWorld(t, "folder")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	script := filepath.Join(w.place(), "scripts", "fill.sh")
	must(t, os.Chmod(script, 0o644))
	p, err := w.sync(w.options())
	must(t, err)
	info, err := os.Stat(script)
	must(t, err)
	if s := p.Steps[0]; info.Mode()&0o100 == 0 || s.Do != install.Replace || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "scripts/fill.sh") || s.Kept != "" || p.Outcome() != install.Done {
		t.Errorf("%v %+v", info.Mode(), s)
	}
	must(t, os.Chmod(filepath.Join(w.place(), "SKILL.md"), 0o755))
	p, err = w.sync(w.options())
	if err != nil || p.Steps[0].Do != install.Nothing {
		t.Errorf("%v %+v", err, p.Steps[0])
	}
}
