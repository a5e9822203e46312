package folder

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/origintest"
)

// sink calls functions before and after it receives a file.
type sink struct {
	*origintest.Sink
	begins func(file string)
	took   func(file string)
}

func (s *sink) File(skill string, f origin.File, content io.Reader) error {
	if s.begins != nil {
		s.begins(f.Path)
	}
	err := s.Sink.File(skill, f, content)
	if s.took != nil {
		s.took(f.Path)
	}
	return err
}

func put(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".sh") {
			mode = 0o755
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func fetch(t *testing.T, root string, to *sink) []origin.Skill {
	t.Helper()
	to.Sink = origintest.NewSink()
	l, err := Origin{}.Open(t.Context(), origin.Ref{Kind: origin.Folder, Location: root}, origin.Revision{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	skills, err := l.Skills(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Fetch(t.Context(), skills, to); err != nil {
		t.Fatal(err)
	}
	return skills
}

const pdf = "---\nname: pdf\ndescription: Reads PDF files.\n---\n"

// TestFetch checks that a folder yields its skills, including nested ones, byte for byte and
// without dot-entries.
func TestFetch(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{
		"a/SKILL.md": "\ufeff" + strings.ReplaceAll(pdf, "\n", "\r\n"), "a/run.sh": "echo", "a/empty": "", "a/x/bin": "\x00\xff",
		"a/.env": "secret", "a/.git/config": "x", "a/.git/hooks/y.sh": "x", "a/sub/skill.md": pdf,
		".claude/skills/b/SKILL.md": pdf, "node_modules/c/SKILL.md": pdf, ".git/d/SKILL.md": pdf, "other.txt": "x",
	})
	var got sink
	skills := fetch(t, root, &got)
	want := map[string]string{
		"a: SKILL.md": "\ufeff" + strings.ReplaceAll(pdf, "\n", "\r\n"), "a: run.sh+": "echo", "a: empty": "", "a: x/bin": "\x00\xff", "a: sub/skill.md": pdf,
		"a/sub: skill.md": pdf, ".claude/skills/b: SKILL.md": pdf,
	}
	if runtime.GOOS == "windows" {
		delete(want, "a: run.sh+")
		want["a: run.sh"] = "echo"
	}
	if diff := cmp.Diff(want, got.Files); diff != "" || len(got.Failed) != 0 {
		t.Error(diff, got.Failed)
	}
	var paths []string
	for _, s := range skills {
		paths = append(paths, s.Path)
		if s.Name != "pdf" || s.Description != "Reads PDF files." || s.Fault != nil || s.Path == "a" != (s.Left == 2) {
			t.Errorf("%+v", s)
		}
	}
	if diff := cmp.Diff([]string{".claude/skills/b", "a", "a/sub"}, paths); diff != "" {
		t.Error(diff)
	}
}

// TestLinks checks that a link within a skill is installed as a copy, and that any other link is
// left out.
func TestLinks(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"s/a/SKILL.md": pdf, "s/b/SKILL.md": pdf, "out": "secret", "s/d/AGENTS.md": pdf, "s/a/run.sh": "echo"})
	for at, to := range map[string]string{"s/a/notes": "../../out", "s/c": "b", "s/a/copy": "SKILL.md", "s/a/again.sh": filepath.Join(root, "s/a/run.sh"), "s/d/SKILL.md": "AGENTS.md", "s/e": "none"} {
		if err := os.Symlink(to, filepath.Join(root, at)); err != nil {
			t.Skip(err)
		}
	}
	var got sink
	skills := fetch(t, filepath.Join(root, "s"), &got)
	want := map[string]string{"a: SKILL.md": pdf, "a: copy": pdf, "a: run.sh+": "echo", "a: again.sh+": "echo", "b: SKILL.md": pdf, "d: SKILL.md": pdf, "d: AGENTS.md": pdf}
	if diff := cmp.Diff(want, got.Files); diff != "" || len(got.Failed) != 0 || len(skills) != 3 {
		t.Error(diff, got.Failed, skills)
	}
	if left := skills[0].Dropped; len(left) != 1 || left[0] != "'notes': the link leads out of the skill's folder and is not followed" {
		t.Error(left)
	}
	if skills[2].Name != "pdf" {
		t.Errorf("%+v", skills[2])
	}
}

// TestChanges checks that a skill fails if any of its files changes while they are read.
func TestChanges(t *testing.T) {
	for _, name := range []string{"a", "SKILL.md", "z"} {
		root := t.TempDir()
		put(t, root, map[string]string{"s/a": "1", "s/SKILL.md": pdf, "s/z": "1", "t/SKILL.md": pdf})
		var got sink
		got.took = func(file string) {
			if file == "SKILL.md" {
				put(t, root, map[string]string{"s/" + name: "longer than before"})
				got.took = nil
			}
		}
		fetch(t, root, &got)
		if !strings.Contains(fmt.Sprint(got.Failed["s"]), "changed while it was read") || got.Failed["t"] != nil {
			t.Errorf("%s: %+v", name, got.Failed)
		}
	}
}

// TestChangesLength checks that a file that becomes longer or shorter after it was opened counts as
// changed. The error comes from the reader, before a sink can count the bytes.
func TestChangesLength(t *testing.T) {
	for _, text := range []string{"longer than before", ""} {
		root := t.TempDir()
		put(t, root, map[string]string{"s/SKILL.md": pdf, "s/z": "1"})
		var got sink
		got.begins = func(file string) {
			if file == "z" {
				put(t, root, map[string]string{"s/z": text})
			}
		}
		fetch(t, root, &got)
		if _, taken := got.Files["s: z"]; taken || fmt.Sprint(got.Failed["s"]) != "'z' changed while it was read: run the command again" {
			t.Errorf("%q: %v %v", text, got.Failed, got.Files)
		}
	}
}

func TestMissing(t *testing.T) {
	root := t.TempDir()
	put(t, root, map[string]string{"file": ""})
	for path, want := range map[string]string{"none": "there is no folder", "file": "not a folder"} {
		_, err := Origin{}.Resolve(t.Context(), origin.Ref{Location: filepath.Join(root, path)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
