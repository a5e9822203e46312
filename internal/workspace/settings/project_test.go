package settings

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// write makes a file, with the folders above it.
func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func environment(t *testing.T) *console.Env {
	t.Helper()
	return &console.Env{Dir: t.TempDir(), Home: t.TempDir(), Getenv: func(string) string { return "" }}
}

// TestLinkAppears checks that a root is dropped if it becomes a link while a server runs, as it may
// after a pull. Its skills are no longer served, and nothing behind the link is read or listed.
func TestLinkAppears(t *testing.T) {
	env := environment(t)
	write(t, filepath.Join(env.Dir, "knack.yaml"), "project:\n  dirs: [in/skills]\n")
	write(t, filepath.Join(env.Dir, "in", "skills", "a", "SKILL.md"), "---\nname: a\ndescription: d\n---\n")
	outside := t.TempDir()
	write(t, filepath.Join(outside, "skills", "secret", "SKILL.md"), "---\nname: secret\ndescription: d\n---\n")
	write(t, filepath.Join(outside, "skills", "a", "key"), "of the user")

	p := New(env, "").Projects([]string{env.Dir})
	roots := p.Roots(nil)
	if len(roots) != 1 || len(p.Unusable) > 0 {
		t.Fatal(roots, p.Unusable)
	}
	source := p.Source(dir.Options{Root: roots[0], Load: true})
	folders := source.(interface {
		catalog.Folders
		Names(name string, limit int) ([]string, bool)
	})
	all := func(string) bool { return true }
	scan, err := source.Scan(t.Context())
	if err != nil || len(scan.Bundles) != 1 || len(folders.Folders(all)) != 1 {
		t.Fatal(scan, err)
	}
	if err := os.Rename(filepath.Join(env.Dir, "in"), filepath.Join(env.Dir, "was")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(env.Dir, "in")); err != nil {
		t.Skip(err)
	}
	// Before the next scan, a client may still ask for files of the old skill.
	if data, err := fs.ReadFile(scan.Bundles[0].FS, "key"); err == nil {
		t.Errorf("a file behind the link is read: %q", data)
	}
	scan, err = source.Scan(t.Context())
	if !errors.Is(err, skill.ErrLeavesProject) || !scan.Missing || len(scan.Bundles) > 0 {
		t.Errorf("%+v, %v", scan, err)
	}
	if _, ok := folders.Names("secret", 1); ok || len(folders.Folders(all)) > 0 {
		t.Error("the folders behind the link are listed")
	}
}

// TestSeveralProjects checks that each root of each project of a client is added once, unless it is
// already known, and that the home folder is not a project.
func TestSeveralProjects(t *testing.T) {
	env := environment(t)
	one, two := filepath.Join(env.Dir, "one"), filepath.Join(env.Dir, "two")
	write(t, filepath.Join(one, ".git"), "")
	write(t, filepath.Join(one, "deep", "x"), "")
	write(t, filepath.Join(one, "knack.yaml"), "project:\n  dirs: [.claude/skills, a]\n  exclude: [wave-project]\n")
	write(t, filepath.Join(two, "knack.yaml"), "project:\n  dirs: [b, b/]\n  tools: wave\n")
	write(t, filepath.Join(env.Home, "knack.yaml"), "project:\n  dirs: [c]\n")
	bad := filepath.Join(env.Dir, "bad")
	write(t, filepath.Join(bad, "knack.yaml"), "project:\n  dirs: [d]\n  tools: none\n")

	folders := []string{one, filepath.Join(one, "deep"), two, env.Home, bad}
	p := New(env, "").Projects(folders)
	var got []string
	for _, r := range p.Roots(dir.WellKnown(folders, env.Home, nil)) {
		at, err := filepath.Rel(env.Dir, r.Dir)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.Label+" "+filepath.ToSlash(at))
	}
	if diff := cmp.Diff([]string{"project-2 one/a", "project-3 two/b"}, got); diff != "" {
		t.Error(diff)
	}
	if len(p.Unusable) != 1 || p.Tools() != "wave" {
		t.Error(p.Unusable, p.Tools())
	}
	const key = "project.exclude in the project's knack.yaml"
	for label, want := range map[string]string{"wave-project": key, "wave-project-2": key, "wave-user": "", "claude-project": ""} {
		if by := p.ExcludedBy(label); by != want {
			t.Errorf("%s: excluded by %q", label, by)
		}
	}
	want := []string{
		"one/knack.yaml:2: project.dirs: .claude/skills, a", "one/knack.yaml:3: project.exclude: wave-project",
		"two/knack.yaml:2: project.dirs: b, b", "two/knack.yaml:3: project.tools: wave",
	}
	if diff := cmp.Diff(want, p.Lines()); diff != "" {
		t.Error(diff)
	}
}
