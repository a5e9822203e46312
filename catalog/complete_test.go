package catalog

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// counted is a source whose scan takes a number of steps. Each step takes one pause and
// counts as progress.
type counted struct {
	*memory
	steps int
	pause time.Duration
}

func (s counted) Scan(ctx context.Context) (skill.Scan, error) {
	if err := testwait.Steps(ctx, s.steps, s.pause, func() { skill.Progress(ctx).Add(1) }); err != nil {
		return skill.Scan{}, err
	}
	return s.memory.Scan(ctx)
}

// TestWhole checks that CompleteView waits as long as skills are being read, and no longer. It does
// not wait for a disk that does not answer, nor longer than the caller's limit.
func TestWhole(t *testing.T) {
	const most = 5 * time.Second
	hung := func() Source {
		return dead{source("a", "x/SKILL.md", text("x", "one")), make(chan struct{})}
	}
	hungUnlisted := func() Source {
		m := source("a", "x/SKILL.md", text("x", "one"))
		m.root.Unlisted = true
		return dead{m, make(chan struct{})}
	}
	reading := func(steps int, pause time.Duration) Source {
		return counted{source("b", "y/SKILL.md", text("y", "two")), steps, pause}
	}
	for name, row := range map[string]struct {
		sources  func() []Source // called in the bubble, since their channels must be made there
		patience time.Duration
		took     time.Duration // within a tick
		skills   int
		err      error
	}{
		"nothing to wait for":             {func() []Source { return []Source{reading(0, 0)} }, 2 * time.Second, 0, 1, nil},
		"soon":                            {func() []Source { return []Source{reading(30, 10*time.Millisecond)} }, 2 * time.Second, 300 * time.Millisecond, 1, nil},
		"longer than the first list":      {func() []Source { return []Source{reading(400, 10*time.Millisecond)} }, 2 * time.Second, 4 * time.Second, 1, nil},
		"longer than the caller has":      {func() []Source { return []Source{reading(10_000, 10*time.Millisecond)} }, 2 * time.Second, most, 0, nil},
		"slow steps":                      {func() []Source { return []Source{reading(4, 1200*time.Millisecond)} }, 2 * time.Second, 4800 * time.Millisecond, 1, nil},
		"a disk that hangs":               {func() []Source { return []Source{hung()} }, 2 * time.Second, stallLimit, 0, nil},
		"a disk that hangs beside others": {func() []Source { return []Source{hung(), reading(24, 100*time.Millisecond)} }, 2 * time.Second, 2400*time.Millisecond + stallLimit, 1, nil},
		"one of skills in no list":        {func() []Source { return []Source{reading(0, 0), hungUnlisted()} }, 2 * time.Second, 2 * time.Second, 1, nil},
		"steps that get too slow":         {func() []Source { return []Source{reading(4, stallLimit+time.Millisecond)} }, 2 * time.Second, stallLimit, 0, nil},
		"nothing at all":                  {func() []Source { return []Source{hung()} }, 0, stallLimit, 0, ErrLate},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(row.sources(), Options{Patience: row.patience})
				ctx, stop := context.WithCancel(t.Context())
				ended := make(chan struct{})
				go func() { defer close(ended); _ = c.Run(ctx) }()
				defer func() { stop(); <-ended }()
				begun := time.Now()
				v, err := c.CompleteView(t.Context(), most)
				if took := time.Since(begun); took < row.took || took > row.took+2*stallTick {
					t.Errorf("it took %v, not %v", took, row.took)
				}
				if !errors.Is(err, row.err) || err == nil && len(v.Listed) != row.skills {
					t.Fatalf("%+v, %v", v.Snapshot, err)
				}
				if err != nil {
					return
				}
				for _, r := range v.Roots {
					if r.Unread() != (r.Count == 0) {
						t.Errorf("the root %s has %d skills, and is unread: %v", r.Label, r.Count, r.Unread())
					}
				}
				// A later session does not wait for a scan run that began long ago.
				testwait.Advance(most)
				begun = time.Now()
				if _, err := c.CompleteView(t.Context(), most); row.err == nil && (err != nil || time.Since(begun) != 0) {
					t.Errorf("the next one: %v after %v", err, time.Since(begun))
				}
			})
		})
	}
}

// TestReadingIsProgress checks that reading skills counts as progress, even if the source
// reports none.
func TestReadingIsProgress(t *testing.T) {
	m := source("a")
	for i := range 50 {
		m.write(fmt.Sprintf("s%d/SKILL.md", i), text(fmt.Sprintf("s%d", i), "d"))
	}
	c := catalogOf(t, m)
	if n := c.progress.Load(); n < 50 {
		t.Errorf("%d steps for 50 skills", n)
	}
}
