package dir

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// TestAgain checks that the next scan sees each change that a scan of a new source would see, and
// that it returns the same scan if nothing has changed. All trees are made before the first scan,
// so that the test waits only once until their stamps are old enough.
func TestAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 2 s")
	}
	t.Parallel()
	file := func(name string) func(string) error {
		return func(root string) error { return os.WriteFile(filepath.Join(root, name), []byte("new"), 0o644) }
	}
	type tried struct {
		name   string
		change func(root string) error
		same   bool
	}
	cases := []tried{
		{"nothing", func(string) error { return nil }, true},
		{"a file beside SKILL.md is rewritten", file("a/notes.md"), true},
		{"SKILL.md is rewritten", file("a/SKILL.md"), false},
		{"SKILL.md is rewritten, its size and time kept", func(root string) error {
			at := filepath.Join(root, "a/SKILL.md")
			fi, err := os.Stat(at)
			if err == nil {
				err = os.WriteFile(at, []byte("y"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(at, fi.ModTime(), fi.ModTime())
			}
			return err
		}, false},
		{"a folder becomes a skill", file("deep/er/SKILL.md"), false},
		{"another spelling comes", file("a/skill.md"), false},
		{"a folder comes", func(root string) error { return os.Mkdir(filepath.Join(root, "new"), 0o755) }, false},
		{"a skill goes", func(root string) error { return os.RemoveAll(filepath.Join(root, "a")) }, false},
		{"a skill moves", func(root string) error { return os.Rename(filepath.Join(root, "a"), filepath.Join(root, "deep/a")) }, false},
		{"another folder takes its place", func(root string) error {
			if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, ".old")); err != nil {
				return err
			}
			return os.Rename(filepath.Join(root, "b"), filepath.Join(root, "a"))
		}, false},
		{"a link takes its place", func(root string) error {
			if err := os.Rename(filepath.Join(root, "a"), filepath.Join(root, ".old")); err != nil {
				return err
			}
			return os.Symlink(".old", filepath.Join(root, "a"))
		}, false},
		{"a link leads elsewhere", func(root string) error {
			if err := os.Remove(filepath.Join(root, "way")); err != nil {
				return err
			}
			return os.Symlink("other", filepath.Join(root, "way"))
		}, false},
		{"the skill behind a link changes", file("far/SKILL.md"), false},
		{"what a linked SKILL.md leads to changes", file("linked/text.md"), false},
		{"what a link to nowhere leads to comes", func(root string) error { return os.MkdirAll(root+"-out/later/SKILL.md", 0o755) }, false},
		{"a link outside leads elsewhere", func(root string) error {
			if err := os.Remove(root + "-out/current"); err != nil {
				return err
			}
			return os.Symlink("v2", root+"-out/current")
		}, false},
		{"what a link leads to changes outside", func(root string) error { return os.WriteFile(root+"-out/v1/SKILL.md", []byte("new"), 0o644) }, false},
		{"a link out of a skill now stays in it", func(root string) error {
			if err := os.Remove(filepath.Join(root, "b/out")); err != nil {
				return err
			}
			return os.Symlink("SKILL.md", filepath.Join(root, "b/out"))
		}, false},
		{"SKILL.md may not be read any more", func(root string) error { return os.Chmod(filepath.Join(root, "a/SKILL.md"), 0) }, false},
		{"a folder may not be read any more", func(root string) error { return os.Chmod(filepath.Join(root, "deep"), 0) }, false},
	}
	sources := make([]*Source, len(cases))
	roots := make([]string, len(cases))
	for i := range cases {
		roots[i] = filepath.Join(t.TempDir(), "root")
		add(t, roots[i], map[string]string{
			"a/SKILL.md": "x", "a/notes.md": "n", "b/SKILL.md": "z", "deep/er/x.txt": "", "far/SKILL.md": "f", "other/SKILL.md": "o", "linked/text.md": "l",
		})
		add(t, roots[i]+"-out", map[string]string{"v1/SKILL.md": "1", "v2/SKILL.md": "2", "current": "->v1"})
		for name, target := range map[string]string{"way": "far", "linked/SKILL.md": "text.md", "b/out": "../a/SKILL.md", "later": roots[i] + "-out/later", "via": roots[i] + "-out/current"} {
			if err := os.Symlink(target, filepath.Join(roots[i], name)); err != nil {
				t.Fatal(err)
			}
		}
		sources[i] = New(Options{Root: skill.Root{Label: "r", Dir: roots[i]}})
	}
	if _, ok := sources[0].opener.(kernelOpener); !ok {
		t.Skip("openat2 is not to be had here")
	}
	age()
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			first, err := sources[i].Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if err := c.change(roots[i]); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(filepath.Join(roots[i], "deep"), 0o755) })
			again, err := sources[i].Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if (again.Version == first.Version) != c.same {
				t.Errorf("version %d, then %d", first.Version, again.Version)
			}
			anew, err := New(Options{Root: skill.Root{Label: "r", Dir: roots[i]}}).Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(anew, again, cmpopts.IgnoreFields(skill.Scan{}, "Version"), cmpopts.IgnoreFields(skill.Bundle{}, "FS"),
				cmp.Comparer(func(a, b error) bool { return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error()) })); d != "" {
				t.Errorf("(-anew +again):\n%s", d)
			}
		})
	}
}

// age waits until the stamps of all files are old enough to prove that the files have not changed.
// The test cannot set them back, since no call sets the time at which the kernel last changed a
// file's inode.
func age() { time.Sleep(skill.StampRacy + 100*time.Millisecond) }

// TestAgainRandom changes trees at random. It checks that the next scan finds the same as a new
// source, after any additions, removals and changes.
func TestAgainRandom(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	if _, ok := pickOpener().(kernelOpener); !ok {
		t.Skip("openat2 is not to be had here")
	}
	const trees, steps = 12, 12
	names := []string{"a", "a-b", "a.b", "b", "-", "SKILL.md", "SKILL.md", "skill.md", "Skills.md", "x.txt"}
	roots, sources, random := make([]string, trees), make([]*Source, trees), make([]*rand.Rand, trees)
	change := func(i int) {
		r, at := random[i], roots[i]
		for range r.IntN(3) {
			if down := filepath.Join(at, names[r.IntN(5)]); os.MkdirAll(down, 0o755) == nil {
				at = down
			}
		}
		name := names[r.IntN(len(names))]
		at = filepath.Join(at, name)
		switch r.IntN(6) {
		case 0:
			_ = os.RemoveAll(at)
		case 1:
			_ = os.Rename(at, filepath.Join(roots[i], names[r.IntN(5)]))
		default:
			if filepath.Ext(name) == ".md" || filepath.Ext(name) == ".txt" {
				_ = os.WriteFile(at, fmt.Append(nil, r.Uint64()), 0o644)
			} else {
				_ = os.MkdirAll(at, 0o755)
			}
		}
	}
	for i := range trees {
		roots[i], random[i] = t.TempDir(), rand.New(rand.NewPCG(7, uint64(i)))
		sources[i] = New(Options{Root: skill.Root{Label: "r", Dir: roots[i]}})
		for range 60 {
			change(i)
		}
	}
	for step := range steps {
		if step%6 == 0 {
			age()
		}
		for i, s := range sources {
			again, err := s.Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			anew, err := New(Options{Root: skill.Root{Label: "r", Dir: roots[i]}}).Scan(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(anew, again, cmpopts.IgnoreFields(skill.Scan{}, "Version"), cmpopts.IgnoreFields(skill.Bundle{}, "FS")); d != "" {
				t.Fatalf("tree %d, step %d (-anew +again):\n%s", i, step, d)
			}
			for range random[i].IntN(3) {
				change(i)
			}
		}
	}
}

// TestAgainYoung checks that a young tree is scanned again, since a change within the resolution of
// the clock leaves the same stamp.
func TestAgainYoung(t *testing.T) {
	for end := time.Now().Add(patience); time.Now().Before(end); {
		root, made := t.TempDir(), time.Now()
		add(t, root, map[string]string{"a/SKILL.md": "x"})
		s := New(Options{Root: skill.Root{Label: "r", Dir: root}})
		first, err := s.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if time.Since(made) > skill.StampRacy/2 {
			continue // the machine is slow: the tree may be old by now
		}
		again, err := s.Scan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if first.Version == again.Version {
			t.Error("a tree that was made a moment ago was not scanned again")
		}
		return
	}
	t.Skip("this machine is too slow to scan a tree that was made a moment ago")
}

// BenchmarkUnchanged measures a scan of 1,000 skills in which nothing has changed.
func BenchmarkUnchanged(b *testing.B) {
	root := b.TempDir()
	for i := range 1000 {
		add(b, root, map[string]string{fmt.Sprintf("skill-%04d/SKILL.md", i): "---\nname: x\n---\n"})
	}
	age()
	s := New(Options{Root: skill.Root{Label: "r", Dir: root}})
	first, err := s.Scan(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		again, err := s.Scan(b.Context())
		if err != nil || again.Version != first.Version {
			b.Fatal(again.Version, err)
		}
	}
}
