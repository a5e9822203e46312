package genskills

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/skill"
)

// TestSameTree: the same options write the same bytes, whoever is faster.
func TestSameTree(t *testing.T) {
	o := Options{N: 60, Seed: 7, Faults: .3}
	a, b := t.TempDir(), t.TempDir()
	for _, dir := range []string{a, b} {
		if _, err := Write(dir, o); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	err := filepath.WalkDir(a, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		n++
		rel, _ := filepath.Rel(a, p)
		one, err1 := os.ReadFile(p)
		two, err2 := os.ReadFile(filepath.Join(b, rel))
		if err1 != nil || err2 != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs: %v, %v", rel, err1, err2)
		}
		return nil
	})
	if err != nil || n < 60 {
		t.Fatalf("%d files, %v", n, err)
	}
}

// TestFigures: the sizes are those of real skills, and without faults every skill
// is one that can be published.
func TestFigures(t *testing.T) {
	var mains, files, descs []int
	seen := map[string]bool{}
	for i := range 3000 {
		s := Make(i, Options{N: 3000})
		if seen[s.Path] || seen[s.Name] {
			t.Fatalf("%s, or its name, stands twice", s.Path)
		}
		seen[s.Path], seen[s.Name] = true, true
		folder := filepath.Base(s.Path)
		got := skill.Load(skill.Bundle{Path: s.Path, Folder: folder, Entry: "SKILL.md", FS: fstest.MapFS{"SKILL.md": {Data: s.Files[0].Data}}})
		if !got.Publishable || got.Name != s.Name {
			t.Fatalf("%s: %+v", s.Path, got.Problems)
		}
		mains, files, descs = append(mains, len(s.Files[0].Data)), append(files, len(s.Files)), append(descs, len(got.Description))
	}
	for _, c := range []struct {
		what     string
		values   []int
		at       float64
		low, top int
	}{
		{"SKILL.md, median", mains, .5, 5300, 6300},
		{"SKILL.md, p95", mains, .95, 18000, 22500},
		{"files, median", files, .5, 2, 2},
		{"files, p95", files, .95, 10, 14},
		{"description, median", descs, .5, 250, 300},
	} {
		slices.Sort(c.values)
		if v := c.values[int(float64(len(c.values))*c.at)]; v < c.low || v > c.top {
			t.Errorf("%s: %d, want %d to %d", c.what, v, c.low, c.top)
		}
	}
}

// TestFaults: every fault is drawn, and does what real ones do: of the skills
// with one, some stay available and some do not.
func TestFaults(t *testing.T) {
	seen := map[string]bool{}
	for i := range 3000 {
		seen[Make(i, Options{N: 3000, Faults: 1, MainOnly: true}).Fault] = true
	}
	for _, f := range faults {
		if !seen[f.what] {
			t.Errorf("no skill has the fault %s", f.what)
		}
	}
}
