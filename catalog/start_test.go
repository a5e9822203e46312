package catalog

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/internal/test/difftest"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

type watchCounted struct {
	*memory
	watches *atomic.Int64
}

func (w watchCounted) Watch(ctx context.Context, _ func()) {
	w.watches.Add(1)
	<-ctx.Done()
}

// TestWatchersStartWithTheFirstScan checks that each watcher starts once, a moment after the
// first scan, and needs no goroutine before.
func TestWatchersStartWithTheFirstScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := watchCounted{source("a", "old/SKILL.md", text("old", "d")), new(atomic.Int64)}
		c := New([]Source{m}, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = c.Run(ctx) }()
		defer func() { cancel(); <-ended }()
		view(t, c)
		synctest.Wait()
		if n := m.watches.Load(); n != 0 {
			t.Errorf("%d watchers while clients wait for their first answers", n)
		}
		testwait.Advance(watchDelay)
		if n := m.watches.Load(); n != 1 {
			t.Errorf("%d watchers after the first scan", n)
		}
		testwait.Advance(2 * DefaultInterval)
		if n := m.watches.Load(); n != 1 {
			t.Errorf("%d watchers after some refreshes", n)
		}
	})
}

// TestBuildAllocates bounds the allocations of build, which runs after every change.
func TestBuildAllocates(t *testing.T) {
	c := catalogOf(t, many(1000))
	found := c.current.Load().basis()
	// None for each skill: the indexes are made of pointers to existing values.
	if n := alloctest.Least(5, func() { build(found) }); n > 100 {
		t.Errorf("%.0f allocations for 1,000 skills", n)
	}
}

// loading is a source that loads its skills during the scan.
type loading struct{ *memory }

func (l loading) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := l.memory.Scan(ctx)
	slices.SortFunc(scan.Bundles, func(a, b *skill.Bundle) int { return strings.Compare(a.Path, b.Path) })
	for i, b := range scan.Bundles {
		scan.Skills = append(scan.Skills, skill.Load(b))
		if i == 1 {
			scan.Skills[i] = nil // the catalogue loads it
		}
	}
	return scan, err
}

// TestLoadedOnce checks that the catalogue reads only the skills that the source has not
// loaded.
func TestLoadedOnce(t *testing.T) {
	m := source("a", "x/SKILL.md", text("x", "one"), "y/SKILL.md", text("y", "two"), "z/y/SKILL.md", text("y", "three"))
	c := New([]Source{loading{m}}, Options{})
	refresh(t, c)
	difftest.Same(t, said(view(t, c).Entries), []string{"available x skill://a/x/SKILL.md", "available y skill://a/y/SKILL.md", "shadowed y skill://a/z/y/SKILL.md"}, "skills")
	if n := m.opens.Load(); n != 4 {
		t.Errorf("3 skills, of which one was loaded twice, were opened %d times", n)
	}
}
