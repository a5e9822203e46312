package diff_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/diff"
)

var cases = []struct{ old, new, want string }{
	{"a\n", "a\n", ""},
	{"a\nb\nc\n", "a\nB\nc\n", "--- a/f\n+++ b/f\n@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n"},
	{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\n6\n7\n8\n9\n", "--- a/f\n+++ b/f\n@@ -2,7 +2,6 @@\n 2\n 3\n 4\n-5\n 6\n 7\n 8\n"},
	{"", "a", "--- a/f\n+++ b/f\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n"},
	{"a\r\nb", "a\nb", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-a\r\n+a\n b\n\\ No newline at end of file\n"},
	{"a\na\n", "a\na\na\n", "--- a/f\n+++ b/f\n@@ -1,2 +1,3 @@\n+a\n a\n a\n"},
}

// TestFarApart checks that equal lines between two changes are not shown as changed.
func TestFarApart(t *testing.T) {
	lines := make([]string, 200)
	for i := range lines {
		lines[i] = fmt.Sprintf("line %d\n", i+1)
	}
	old := strings.Join(lines, "")
	lines[0], lines[197] = "first\n", "last\n"
	got := diff.Unified("a", "b", []byte(old), []byte(strings.Join(lines, "")))
	if n, hunks := strings.Count(got, "\n"), strings.Count(got, "\n@@ "); n != 16 || hunks != 2 {
		t.Errorf("%d lines and %d hunks:\n%s", n, hunks, got)
	}
	rows := 0
	for _, r := range diff.Rows(strings.Split(old, "\n"), strings.Split(strings.Join(lines, ""), "\n")) {
		if !r.Same {
			rows++
		}
	}
	if rows != 2 {
		t.Errorf("%d rows differ side by side", rows)
	}
}

func TestUnified(t *testing.T) {
	for _, c := range cases {
		if got := diff.Unified("a/f", "b/f", []byte(c.old), []byte(c.new)); got != c.want {
			t.Errorf("%q to %q:\n%s\nwant\n%s", c.old, c.new, got, c.want)
		}
	}
}

// TestPart checks that the name of a part replaces the line numbers.
func TestPart(t *testing.T) {
	if got, want := diff.Part("f", "a.b", []byte("a\nb\n"), []byte("a\nc\n")), "--- f\n+++ f\n@@ a.b @@\n a\n-b\n+c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := diff.Part("f", "a.b", []byte("a\n"), []byte("a\n")); got != "" {
		t.Errorf("without a change: %q", got)
	}
}

// TestUnifiedPatches checks that Git applies each diff with the intended result.
func TestUnifiedPatches(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
	for _, c := range cases {
		if c.want == "" || c.old == "" {
			continue
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		if err := os.WriteFile(path, []byte(c.old), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--unsafe-paths", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(c.want)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, c.want)
			continue
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.new {
			t.Errorf("%q, want %q (%v)", got, c.new, err)
		}
	}
}

// TestOddNames checks that Git applies a patch to a file with any name, and that no name adds a
// line to the patch.
func TestOddNames(t *testing.T) {
	name := "a\n+++ b/evil\n@@ -0,0 +1,1 @@\n+text\n--- a/\"\\\x7f ü"
	if got, want := diff.Rename("a\nb", "c"), "diff --git \"a/a\\012b\" b/c\nrename from \"a\\012b\"\nrename to c\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for to, old := range map[string]string{name: "old\n", "x": "old\n", "y": "new\n"} {
		patch := diff.Unified("a/"+name, "b/"+to, []byte(old), []byte("new\n"))
		if to != name {
			patch = diff.Rename(name, to) + patch
		}
		if strings.Contains(patch, "\n+++ b/evil") {
			t.Errorf("another file is patched:\n%s", patch)
		}
		if _, err := exec.LookPath("git"); err != nil || runtime.GOOS == "windows" {
			continue // no git here, or no such name
		}
		dir := t.TempDir()
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(old), 0o644); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), "git", "apply", "--unsafe-paths", "-")
		cmd.Dir, cmd.Stdin = dir, strings.NewReader(patch)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, patch)
		}
		if got, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(to))); err != nil || string(got) != "new\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
}
