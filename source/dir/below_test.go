package dir

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestIgnored checks which folders a pattern matches. The expected results come from git
// check-ignore.
func TestIgnored(t *testing.T) {
	for _, c := range []struct {
		rules, folder string
		want          bool
	}{
		{"build", "build", true},
		{"build", "a/build", true},
		{"build/", "a/build", true},
		{"/build", "a/build", false},
		{"/build", "build", true},
		{"a/build", "a/build", true},
		{"a/build", "b/a/build", false},
		{"**/build", "b/a/build", true},
		{"a/**/build", "a/build", true},
		{"a/**/build", "a/b/c/build", true},
		{"a/**/build", "b/build", false},
		{"a/**", "a/b", true},
		{"*.tmp", "x/y.tmp", true},
		{"*.tmp", "x/y.tmps", false},
		{"b?ild", "build", true},
		{"b[!x]ild", "build", true},
		{"b[!u]ild", "build", false},
		{"build\n!build", "build", false},
		{"!build\nbuild", "build", true},
		{"# build", "# build", false},
		{`\#build`, "#build", true},
		{`\!build`, "!build", true},
		{"build   ", "build", true},
		{"", "build", false},
		{"[", "[", false},
		{strings.Repeat("**/a/", 200) + "b", strings.TrimSuffix(strings.Repeat("a/", maxDepth), "/"), false},
	} {
		top := filepath.FromSlash("/top")
		f := &ignoreFile{folder: top, rules: ignoreRules(c.rules)}
		if got := f.matches(filepath.Join(top, filepath.FromSlash(c.folder))); got != c.want {
			t.Errorf("%q ignores %s: %t", c.rules, c.folder, got)
		}
	}
}

// TestBelowBounds checks that the search reports that it is not complete in a tree that is too deep
// or has too many roots. It also checks that two folders whose labels would be equal get different
// ones.
func TestBelowBounds(t *testing.T) {
	top := t.TempDir()
	for _, folder := range []string{"a-b", "a_b", strings.Repeat("d/", maxDepth+2), "pipe"} {
		if err := os.MkdirAll(filepath.Join(top, folder, ".claude/skills/x"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	roots, whole := Below(top)
	var labels []string
	for _, r := range roots {
		labels = append(labels, r.Label)
	}
	if got := fmt.Sprint(labels); whole || got != "[below-a-b-claude below-a-b-claude-2 below-pipe-claude]" {
		t.Errorf("%s, whole %t", got, whole)
	}
	wide := t.TempDir()
	for i := range maxBelowRoots + 1 {
		if err := os.MkdirAll(filepath.Join(wide, fmt.Sprint(i), ".claude/skills"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if roots, whole := Below(wide); whole || len(roots) != maxBelowRoots {
		t.Errorf("%d roots, whole %t", len(roots), whole)
	}
}
