package dir

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/knack-dev/knack/skill"
)

// TestLargeIsToldEarly: whoever waits is told that a tree is large while the level
// that shows it is read, and of a smaller one not at all.
func TestLargeIsToldEarly(t *testing.T) {
	const below = 20
	enough := largeLevel/below + 1
	for _, c := range []struct{ groups, large int }{{enough + 20, 1}, {largeLevel / below, 0}} {
		root := t.TempDir()
		for i := range c.groups {
			group := filepath.Join(root, fmt.Sprintf("group-%03d", i))
			must(t, os.Mkdir(group, 0o755))
			for k := range below {
				must(t, os.Mkdir(filepath.Join(group, fmt.Sprint(k)), 0o755))
			}
			must(t, os.WriteFile(filepath.Join(group, "SKILL.md"), []byte("---\nname: x\n---\n"), 0o644))
		}
		var seen, told, at atomic.Int64
		s := New(Options{Root: skill.Root{Dir: root}})
		scan, err := s.Visit(context.Background(), func(*skill.Bundle, ReadMain) { seen.Add(1) }, func() { told.Add(1); at.Store(seen.Load()) })
		if err != nil || len(scan.Bundles) != c.groups {
			t.Fatal(len(scan.Bundles), err)
		}
		if told.Load() != int64(c.large) {
			t.Errorf("%d groups: told %d times", c.groups, told.Load())
		}
		if most := enough + 2*runtime.GOMAXPROCS(0); c.large > 0 && at.Load() > int64(min(most, c.groups-1)) {
			t.Errorf("told after %d of %d groups", at.Load(), c.groups)
		}
	}
}

// TestIsLarge: what some folders hold is taken for all of them, where they are enough
// and the tree is far from small.
func TestIsLarge(t *testing.T) {
	for _, c := range []struct {
		below, seen int64
		level       int
		want        bool
	}{
		{largeLevel, 10, 10, false},
		{largeLevel + 1, 1, 1, true},
		{sample * 10, sample, surely * largeLevel / 10, false},
		{sample * 10, sample, surely*largeLevel/10 + 1, true},
		{(sample - 1) * 10, sample - 1, 100_000, false},
		{0, sample, 1_000_000, false},
	} {
		if got := isLarge(c.below, c.seen, c.level); got != c.want {
			t.Errorf("%d folders below %d of %d: %t", c.below, c.seen, c.level, got)
		}
	}
}

// TestLargeIsCounted: one folder that holds most is known before all others beside it
// are read, where the file system counts.
func TestLargeIsCounted(t *testing.T) {
	root := t.TempDir()
	for i := range countedLevel {
		must(t, os.MkdirAll(filepath.Join(root, fmt.Sprintf("skill-%03d", i)), 0o755))
		must(t, os.WriteFile(filepath.Join(root, fmt.Sprintf("skill-%03d", i), "SKILL.md"), []byte("---\nname: x\n---\n"), 0o644))
	}
	for i := range largeLevel + 1 {
		must(t, os.MkdirAll(filepath.Join(root, "work", fmt.Sprint(i)), 0o755))
	}
	top, err := pickDoor().folder(root, false)
	must(t, err)
	defer top.close()
	if look, ok := top.(lookHandle); !ok || look.below("work") == 0 {
		t.Skip("the folders that a folder holds are not counted here")
	}
	var seen, at atomic.Int64
	at.Store(-1)
	s := New(Options{Root: skill.Root{Dir: root}})
	_, err = s.Visit(context.Background(), func(*skill.Bundle, ReadMain) { seen.Add(1) }, func() { at.Store(seen.Load()) })
	must(t, err)
	if most := int64(2 * runtime.GOMAXPROCS(0)); at.Load() < 0 || at.Load() > most {
		t.Errorf("told after %d of %d skills", at.Load(), countedLevel)
	}
}
