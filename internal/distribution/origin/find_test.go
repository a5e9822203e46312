package origin_test

import (
	"errors"
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

// entriesOf lists the entries of a folder as a source does.
func entriesOf(t testing.TB, root string) []origin.Node {
	t.Helper()
	var entries []origin.Node
	err := filepath.WalkDir(root, func(p string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		below, err := filepath.Rel(root, p)
		entry := origin.Node{Path: filepath.ToSlash(below)}
		info, infoErr := e.Info()
		switch {
		case infoErr != nil:
			return infoErr
		case e.Type()&fs.ModeSymlink != 0:
			entry.Type = origin.Link
			if entry.Target, err = os.Readlink(p); err != nil {
				return err
			}
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

// scanned returns the skills that a scan of the folder finds, each as "PATH ENTRY".
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

// TestFindCorpus checks that Find and a scan of the real skills find the same skills, with the same
// names, descriptions and numbers of files.
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

// TestFindRandom checks that Find and a scan find the same skills in random trees, below several
// folders of each.
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
	many := []origin.Node{{Path: "s/SKILL.md"}}
	for i := range origin.MaxFiles {
		many = append(many, origin.Node{Path: fmt.Sprintf("s/%d", i)})
	}
	main := origin.Node{Path: "s/SKILL.md"}
	for _, tt := range []struct {
		name, fault string
		entries     []origin.Node
		left        int
	}{
		{"whole", "", []origin.Node{main, {Path: "s/run.sh", Type: origin.Exec}}, 0},
		{"dot-entries", "", []origin.Node{main, {Path: "s/.env"}, {Path: "s/.git/a"}, {Path: "s/.git/b", Type: origin.Link}, {Path: "s/x/.y/z"}}, 3},
		{"submodule", "", []origin.Node{main, {Path: "s/vendor", Type: origin.Submodule}}, 1},
		{"link", "", []origin.Node{main, {Path: "s/x", Type: origin.Link, Target: "SKILL.md"}, {Path: "s/y", Type: origin.Link, Target: "../y"}}, 0},
		{"main file is a link", "", []origin.Node{{Path: "s/SKILL.md", Type: origin.Link, Target: "A.md"}, {Path: "s/A.md"}}, 0},
		{"main file is a link outwards", "leads out of the skill's folder", []origin.Node{{Path: "s/SKILL.md", Type: origin.Link, Target: "../A.md"}, {Path: "A.md"}}, 0},
		{"main file is a device", "is not a regular file", []origin.Node{{Path: "s/SKILL.md", Type: origin.Other}}, 0},
		{"device", "", []origin.Node{main, {Path: "s/x", Type: origin.Other}}, 0},
		{"link and file", "'x' is there twice", []origin.Node{main, {Path: "s/x"}, {Path: "s/x", Type: origin.Link, Target: "SKILL.md"}}, 0},
		{"below a link", "both a link and a folder", []origin.Node{main, {Path: "s/x", Type: origin.Link, Target: "."}, {Path: "s/x/y"}}, 0},
		{"files", "more than 4,096 files", many, 0},
		{"most files", "", many[:origin.MaxFiles], 0},
		{"size", "more than 64 MiB", []origin.Node{main, {Path: "s/a", Size: 64 << 20}, {Path: "s/b", Size: 1}}, 0},
		{"most bytes", "", []origin.Node{main, {Path: "s/a", Size: 64 << 20}}, 0},
		{"spelling", "called 'SKILL.mD'", []origin.Node{{Path: "s/SKILL.mD"}}, 0},
		{"folder", "is a folder", []origin.Node{{Path: "s/SKILL.md/x"}}, 0},
		{"two spellings", "only in case", []origin.Node{main, {Path: "s/skill.md"}}, 0},
		{"twice", "is there twice", []origin.Node{main, main}, 0},
		{"parent", "leads out", []origin.Node{main, {Path: "s/../../x"}}, 0},
		{"backslash", "backslash", []origin.Node{main, {Path: `s/a..\x`}}, 0},
		{"folder with a tab", "control character", []origin.Node{{Path: "a\tb/SKILL.md"}}, 0},
		{"folder with a backslash", "backslash", []origin.Node{{Path: `we\ird/SKILL.md`}}, 0},
		{"folder of no UTF-8", "UTF-8", []origin.Node{{Path: "a\xff/SKILL.md"}}, 0},
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
	// A fault of a nested skill is also a fault of the skill around it, but of no other skill.
	skills := origin.Find([]origin.Node{{Path: "SKILL.md"}, {Path: "in/SKILL.md"}, {Path: `in/\x`}, {Path: "beside/SKILL.md"}}, "")
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

// TestFindLinks checks that fetched and served skills with links have the same files with the same
// bytes.
func TestFindLinks(t *testing.T) {
	if testing.Short() {
		t.Skip("makes many folders")
	}
	random := rand.New(rand.NewPCG(40, 7))
	copies, dropped := 0, 0
	for tree := range 120 {
		root := t.TempDir()
		if real, err := filepath.EvalSymlinks(root); err == nil {
			root = real
		}
		put := func(name string) {
			at := filepath.Join(root, filepath.FromSlash(name))
			if os.MkdirAll(filepath.Dir(at), 0o700) == nil {
				_ = os.WriteFile(at, []byte(name), 0o600)
			}
		}
		for _, name := range []string{"s/SKILL.md", "s/A.md", "s/docs/b.md", "s/docs/deep/c.md", "s/in/SKILL.md", "s/in/d.md", "s/.env", "s/.git/x", "other/SKILL.md", "other/e.md", "out.md"} {
			put(name)
		}
		if tree%5 == 0 { // the main file is a link itself
			_ = os.Remove(filepath.Join(root, "s", "SKILL.md"))
			_ = os.Symlink([]string{"A.md", "../out.md", "docs/b.md", ".env"}[random.IntN(4)], filepath.Join(root, "s", "SKILL.md"))
		}
		targets := []string{"A.md", "a.md", "docs", "docs/", "docs/b.md", "../A.md", "./docs/../A.md", "../s/A.md", "../other", "../other/e.md", "../out.md", ".env", ".git", ".git/x", ".", "..", "../..", "in", "in/d.md", "none", "/etc/passwd", root, root + "/s/A.md", root + "/out.md", "l0", "l1", "l2", "docs/l1", "l1/b.md"}
		for range 1 + random.IntN(8) {
			at := []string{"s", "s/docs", "s/in", "s/docs/deep"}[random.IntN(4)] + "/" + []string{"l0", "l1", "l2", "a.md", ".l"}[random.IntN(5)]
			if err := os.Symlink(targets[random.IntN(len(targets))], filepath.Join(root, filepath.FromSlash(at))); err != nil && !errors.Is(err, fs.ErrExist) {
				t.Skip(err)
			}
		}
		scan, err := dir.New(dir.Options{Root: skill.Root{Label: "r", Dir: root}, NoLinks: true, Required: true}).Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		served := map[string]string{}
		for _, b := range scan.Bundles {
			s := skill.Load(b)
			files, _, err := s.List(t.Context(), origin.MaxFiles)
			if err != nil {
				t.Fatal(err)
			}
			if s.Fault() != nil {
				continue // it is skipped
			}
			for _, f := range files {
				data, err := fs.ReadFile(b.FS, s.OnDisk(f.Path))
				if err != nil {
					t.Fatal(err)
				}
				served[b.Path+": "+f.Path] = string(data)
			}
		}
		got := map[string]string{}
		entries := entriesOf(t, root)
		skills := origin.FindAt(root, entries, "")
		chosen := origin.Selection{}
		for _, s := range skills {
			if s.Fault == nil {
				chosen[s.Path] = s.Copies
			}
			for _, c := range s.Copies {
				copies += len(c)
			}
			dropped += len(s.Dropped)
		}
		for _, e := range entries {
			for in, file := range chosen.Holders(e.Path) {
				if e.Type == origin.Regular {
					got[in+": "+file] = e.Path
				}
			}
		}
		for name, data := range served { // Find leaves out a file that differs from another only in case
			if in, _, ok := strings.Cut(name, " a.md"); ok && got[name] == "" && got[in+" A.md"] != "" {
				got[name] = data
			}
		}
		if diff := cmp.Diff(served, got); diff != "" {
			t.Fatalf("tree %d (-served +fetched):\n%s", tree, diff)
		}
	}
	if copies < 50 || dropped < 50 {
		t.Errorf("%d copies, %d left out", copies, dropped)
	}
}

func TestHolders(t *testing.T) {
	chosen := origin.Select([]origin.Skill{{Path: "."}, {Path: "a/b", Copies: origin.Copies{"c": {"d", "e/f"}}}, {Path: "a/bc"}})
	for file, want := range map[string]string{
		"a/b/SKILL.md": ". a/b/SKILL.md|a/b SKILL.md|",
		"a/b":          ". a/b|",
		"a/b/c":        ". a/b/c|a/b c|a/b d|a/b e/f|",
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
	var entries []origin.Node
	for i := range 1_000_000 {
		entries = append(entries, origin.Node{Path: fmt.Sprintf("src/%d/%d/file-%d.go", i/1000, i/10, i)})
	}
	entries = append(entries, origin.Node{Path: "skills/one/SKILL.md"})
	b.ReportAllocs()
	for b.Loop() {
		if len(origin.Find(entries, "")) != 1 {
			b.Fatal("lost")
		}
	}
}
