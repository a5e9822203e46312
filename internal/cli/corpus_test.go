package cli_test

import (
	"encoding/json"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/corpus"
)

type listedSkill struct {
	Name, Status, File, Path string
	Available                bool
	URI                      string
	Variants                 []string
	Problems                 []struct {
		Rule, Severity, Message string
		Line                    int
	}
}

func list(t *testing.T, args ...string) (skills []listedSkill, found int) {
	t.Helper()
	out, errs, code := ran(t, t.TempDir(), append([]string{"list", "--json", "--no-builtin"}, args...)...)
	if code != 0 || errs != "" {
		t.Fatalf("exit status %d: %s", code, errs)
	}
	var got struct {
		Skills []listedSkill
		Roots  []struct{ Count int }
	}
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	return got.Skills, got.Roots[0].Count
}

// TestCorpusSkills checks that each of the 776 real skills is available. Each file must have an
// entry, and each entry a different URI.
func TestCorpusSkills(t *testing.T) {
	dir := corpus.Dir(t, "skills")
	skills, found := list(t, "--dir", dir)
	if len(skills) != 776 || found != 776 {
		t.Errorf("%d listed of %d found, want 776", len(skills), found)
	}
	seen := map[string]bool{}
	for _, s := range skills {
		if !s.Available || s.Name == "" || s.URI == "" || seen[s.URI] || seen[s.Path] {
			t.Errorf("%+v", s)
		}
		seen[s.URI], seen[s.Path] = true, true
	}
	for _, file := range files(t, dir) {
		if at := path.Dir(file); !seen[at] {
			t.Errorf("%s is not listed", file)
		}
	}
}

// TestCorpusEdge checks that list shows every SKILL.md of the edge cases, in any spelling. Each is
// the file of an entry or one of its variants, and a skipped entry has a reason.
func TestCorpusEdge(t *testing.T) {
	dir := corpus.Dir(t, "edge")
	table, err := os.ReadFile(filepath.Join(dir, "cases.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, line := range strings.Split(strings.TrimSpace(string(table)), "\n")[1:] {
		want[strings.Split(line, "\t")[1]] = true
	}
	if len(want) != 168 {
		t.Errorf("%d cases, want 168", len(want))
	}
	for _, file := range files(t, dir) {
		want[file] = true
	}
	skills, found := list(t, "--all", "--dir", dir)
	if found != len(skills) {
		t.Errorf("%d listed of %d found", len(skills), found)
	}
	got := map[string]bool{}
	for _, s := range skills {
		at := path.Join(s.Path, path.Base(s.File))
		if s.File != path.Join(filepath.ToSlash(dir), at) || got[at] {
			t.Errorf("%s: lies at %s", at, s.File)
		}
		got[at] = true
		for _, v := range s.Variants {
			got[path.Join(s.Path, v)] = true
		}
		if !s.Available && (s.Status != "skipped" || len(s.Problems) == 0 || s.URI != "") {
			t.Errorf("%s: skipped without a reason: %+v", at, s)
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Error(diff)
	}
}

// files returns every SKILL.md below dir, in any spelling.
func files(t *testing.T, dir string) (out []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && strings.EqualFold(d.Name(), "skill.md") {
			rel, _ := filepath.Rel(dir, p)
			out = append(out, filepath.ToSlash(rel))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
