package origin_test

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// entriesOf lists a folder as a source would.
func entriesOf(t testing.TB, root string) []origin.Entry {
	t.Helper()
	var entries []origin.Entry
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		below, err := filepath.Rel(root, p)
		entry := origin.Entry{Path: filepath.ToSlash(below)}
		info, infoErr := e.Info()
		switch {
		case infoErr != nil:
			return infoErr
		case e.Type()&fs.ModeSymlink != 0:
			entry.Type = origin.Link
		case !e.Type().IsRegular():
			entry.Type = origin.Other
		case info.Mode().Perm()&0o111 != 0:
			entry.Type = origin.Exec
		}
		entry.Size = info.Size()
		entries = append(entries, entry)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return entries
}

// scanned returns what a scan of the folder finds, "PATH ENTRY" each.
func scanned(t testing.TB, root string) []string {
	t.Helper()
	scan, err := dir.New(dir.Options{Root: skill.Root{Label: "r", Dir: root}, NoLinks: true, Required: true}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, b := range scan.Bundles {
		found = append(found, b.Path+" "+b.Entry)
	}
	return found
}

func spelt(skills []origin.Skill) []string {
	var found []string
	for _, s := range skills {
		found = append(found, s.Path+" "+s.Main)
	}
	return found
}

// TestFindCorpus compares with a scan of the real skills: the same skills, names and
// descriptions, and as many files.
func TestFindCorpus(t *testing.T) {
	root := corpus.Dir(t, "skills")
	entries := entriesOf(t, root)
	skills := origin.Find(entries, "")
	if diff := cmp.Diff(scanned(t, root), spelt(skills)); diff != "" {
		t.Errorf("a scan finds others (-scan +Find):\n%s", diff)
	}
	scan, err := dir.New(dir.Options{Root: skill.Root{Label: "r", Dir: root}, NoLinks: true}).Scan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]int{}
	chosen := origin.Select(skills)
	for _, e := range entries {
		for in := range chosen.Holders(e.Path) {
			files[in]++
		}
	}
	for i, b := range scan.Bundles {
		s := &skills[i]
		loaded := skill.Load(b)
		data, _, err := loaded.Read()
		if err != nil {
			continue
		}
		if origin.Describe(s, data); s.Name != loaded.Name || s.Description != loaded.Description {
			t.Errorf("%s is %q %q, read as %q %q", s.Path, loaded.Name, loaded.Description, s.Name, s.Description)
		}
		paths, _, err := loaded.List(t.Context(), origin.MaxFiles)
		if err != nil {
			t.Errorf("%s: %v", s.Path, err)
		}
		if files[s.Path] != len(paths) {
			t.Errorf("%s has %d files, found %d", s.Path, len(paths), files[s.Path])
		}
	}
	if len(skills) < 700 {
		t.Errorf("%d skills", len(skills))
	}
}

// TestFindRandom compares with scans of random trees, below every folder of each.
func TestFindRandom(t *testing.T) {
	if testing.Short() {
		t.Skip("scans many folders")
	}
	names := []string{"a", "b", ".claude", ".git", "node_modules", "SKILL.md", "skill.md", "Skill.md", "SKILL.MD", "sKiLL.md", "x.txt"}
	random := rand.New(rand.NewPCG(21, 1))
	for tree := range 12 {
		root := t.TempDir()
		for range 60 {
			parts := []string{root}
			for range 1 + random.IntN(1+random.IntN(15)) {
				parts = append(parts, names[random.IntN(5)])
			}
			folder := filepath.Join(parts...)
			if os.MkdirAll(folder, 0o700) != nil {
				continue // a file is there
			}
			_ = os.WriteFile(filepath.Join(folder, names[5+random.IntN(6)]), nil, 0o600)
		}
		if tree%3 == 0 {
			_ = os.MkdirAll(filepath.Join(root, "a", "b", "SKILL.md", "b"), 0o700)
			_ = os.WriteFile(filepath.Join(root, "a", "b", "SKILL.md", "b", "skill.md"), nil, 0o600)
		}
		entries := entriesOf(t, root)
		random.Shuffle(len(entries), func(i, j int) { entries[i], entries[j] = entries[j], entries[i] })
		for _, sub := range []string{"", "a", "b/a", ".claude", "a/node_modules", "none"} {
			at := filepath.Join(root, filepath.FromSlash(sub))
			var want []string
			if info, err := os.Stat(at); err == nil && info.IsDir() {
				for _, s := range scanned(t, at) {
					below, entry, _ := strings.Cut(s, " ")
					want = append(want, path.Join(sub, below)+" "+entry)
				}
			}
			if sub == "" {
				want = slices.Clone(scanned(t, root))
			}
			if diff := cmp.Diff(want, spelt(origin.Find(entries, sub))); diff != "" {
				t.Fatalf("tree %d below %q: a scan finds others (-scan +Find):\n%s", tree, sub, diff)
			}
		}
	}
}

func TestFindFaults(t *testing.T) {
	many := []origin.Entry{{Path: "s/SKILL.md"}}
	for i := range origin.MaxFiles {
		many = append(many, origin.Entry{Path: fmt.Sprintf("s/%d", i)})
	}
	main := origin.Entry{Path: "s/SKILL.md"}
	for _, tt := range []struct {
		name, fault string
		entries     []origin.Entry
		left        int
	}{
		{"whole", "", []origin.Entry{main, {Path: "s/run.sh", Type: origin.Exec}}, 0},
		{"dot-entries", "", []origin.Entry{main, {Path: "s/.env"}, {Path: "s/.git/a"}, {Path: "s/.git/b", Type: origin.Link}, {Path: "s/x/.y/z"}}, 3},
		{"submodule", "", []origin.Entry{main, {Path: "s/vendor", Type: origin.Submodule}}, 1},
		{"link", "'x' is a link", []origin.Entry{main, {Path: "s/x", Type: origin.Link}}, 0},
		{"main file is a link", "is a link", []origin.Entry{{Path: "s/SKILL.md", Type: origin.Link}}, 0},
		{"device", "is not a regular file", []origin.Entry{main, {Path: "s/x", Type: origin.Other}}, 0},
		{"files", "more than 4,096 files", many, 0},
		{"most files", "", many[:origin.MaxFiles], 0},
		{"size", "more than 64 MiB", []origin.Entry{main, {Path: "s/a", Size: 64 << 20}, {Path: "s/b", Size: 1}}, 0},
		{"most bytes", "", []origin.Entry{main, {Path: "s/a", Size: 64 << 20}}, 0},
		{"spelling", "called 'SKILL.mD'", []origin.Entry{{Path: "s/SKILL.mD"}}, 0},
		{"folder", "is a folder", []origin.Entry{{Path: "s/SKILL.md/x"}}, 0},
		{"two spellings", "only in case", []origin.Entry{main, {Path: "s/skill.md"}}, 0},
		{"twice", "is there twice", []origin.Entry{main, main}, 0},
		{"parent", "leads out", []origin.Entry{main, {Path: "s/../../x"}}, 0},
		{"backslash", "backslash", []origin.Entry{main, {Path: `s/a..\x`}}, 0},
		{"folder with a tab", "control character", []origin.Entry{{Path: "a\tb/SKILL.md"}}, 0},
		{"folder with a backslash", "backslash", []origin.Entry{{Path: `we\ird/SKILL.md`}}, 0},
		{"folder of no UTF-8", "UTF-8", []origin.Entry{{Path: "a\xff/SKILL.md"}}, 0},
	} {
		skills := origin.Find(tt.entries, "")
		if len(skills) != 1 {
			t.Errorf("%s: %d skills", tt.name, len(skills))
			continue
		}
		s := skills[0]
		if got := fmt.Sprint(s.Fault); s.Left != tt.left || (tt.fault == "") != (s.Fault == nil) || s.Fault != nil && !strings.Contains(got, tt.fault) {
			t.Errorf("%s: %d left, fault %v, want %d and %q", tt.name, s.Left, s.Fault, tt.left, tt.fault)
		}
	}
	// A fault of a nested skill is one of the skill around it, and of no other.
	skills := origin.Find([]origin.Entry{{Path: "SKILL.md"}, {Path: "in/SKILL.md"}, {Path: "in/x", Type: origin.Link}, {Path: "beside/SKILL.md"}}, "")
	var faulty []string
	for _, s := range skills {
		if s.Fault != nil {
			faulty = append(faulty, s.Path)
		}
	}
	if diff := cmp.Diff([]string{".", "in"}, faulty); diff != "" {
		t.Error(diff)
	}
}

func TestHolders(t *testing.T) {
	chosen := origin.Select([]origin.Skill{{Path: "."}, {Path: "a/b"}, {Path: "a/bc"}})
	for file, want := range map[string]string{
		"a/b/SKILL.md": ". a/b/SKILL.md|a/b SKILL.md|",
		"a/b":          ". a/b|",
		"a/.x/y":       "",
		"a/b/.x":       "",
		"x":            ". x|",
	} {
		got := ""
		for in, file := range chosen.Holders(file) {
			got += in + " " + file + "|"
		}
		if got != want {
			t.Errorf("%s belongs to %q, want %q", file, got, want)
		}
	}
	if n := len(origin.Select(nil)); n != 0 {
		t.Error(n)
	}
}

func BenchmarkFind(b *testing.B) {
	var entries []origin.Entry
	for i := range 1_000_000 {
		entries = append(entries, origin.Entry{Path: fmt.Sprintf("src/%d/%d/file-%d.go", i/1000, i/10, i)})
	}
	entries = append(entries, origin.Entry{Path: "skills/one/SKILL.md"})
	b.ReportAllocs()
	for b.Loop() {
		if len(origin.Find(entries, "")) != 1 {
			b.Fatal("lost")
		}
	}
}
