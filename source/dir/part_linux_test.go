package dir

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/knack-dev/knack/skill"
)

// A scan that goes only where something has changed finds what one from nothing
// finds, whatever came, went and changed before it, of late or long ago.
func TestPart(t *testing.T) {
	if _, ok := pickDoor().(kernelDoor); !ok {
		t.Skip("openat2 is not to be had here")
	}
	const trees, steps = 12, 25
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
	old := func() { time.Sleep(skill.StampRacy + 100*time.Millisecond) }
	old()
	first := make([]time.Time, trees) // since when stamps are believed: a walk of all begins anew
	for step := range steps {
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
			if step == 0 {
				first[i] = s.last.begun
			} else if !s.last.begun.Equal(first[i]) {
				t.Errorf("tree %d, step %d: all was walked", i, step)
			}
			for range random[i].IntN(3) {
				change(i)
			}
		}
		if step%8 == 7 {
			old()
		}
	}
}

// Each folder and each entry is looked at once, the entry right after its folder where
// no link leads there.
func TestLooksAreAll(t *testing.T) {
	base := t.TempDir()
	for _, p := range []string{"a", "a/b", "a-b", "a-b/c/d", "z"} {
		if err := os.MkdirAll(filepath.Join(base, "root", p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(base, "root", p, "SKILL.md"), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(base, "other", "e"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(base, "other", "e", "SKILL.md"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "other"), filepath.Join(base, "root", "link")); err != nil {
		t.Fatal(err)
	}
	s := New(Options{Root: skill.Root{Label: "a", Dir: filepath.Join(base, "root")}})
	if _, err := s.Scan(t.Context()); err != nil {
		t.Fatal(err)
	}
	l := s.last
	times := map[int32]int{}
	before, apart := "", 0
	for _, at := range l.looks() {
		times[at]++
		if at >= 0 {
			before = l.folders[at].sub
		} else if b := l.scan.Bundles[^at]; b.Path != before {
			apart++
		}
	}
	want := map[int32]int{}
	for i := range l.folders {
		want[int32(i)] = 1
	}
	for i := range l.scan.Bundles {
		want[int32(^i)] = 1
	}
	if len(l.scan.Bundles) != 6 || !maps.Equal(times, want) || apart != 1 {
		t.Errorf("of %d folders and %d skills: %v, %d apart from their folders", len(l.folders), len(l.scan.Bundles), times, apart)
	}
}
