package catalog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/skill"
)

// Tests that depend on patience run in a synctest bubble. Its clock stops while a goroutine
// works, so a source that answers at all answers in time.

// dead is a source whose disk answers only when the test tells it to.
type dead struct {
	Source
	answer chan struct{}
}

func (d dead) Scan(ctx context.Context) (skill.Scan, error) {
	select {
	case <-d.answer:
		return d.Source.Scan(ctx)
	case <-ctx.Done():
		return skill.Scan{}, ctx.Err()
	}
}

// TestLateSourceIsQuiet checks that a late folder is logged, and that a late source of releases is
// not, since its follower logs that.
func TestLateSourceIsQuiet(t *testing.T) {
	for folder, lines := range map[string]int{"": 0, "/srv/skills": 1} {
		synctest.Test(t, func(t *testing.T) {
			d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
			var log bytes.Buffer
			c := New([]Source{placed{d, folder}}, Options{Patience: 20 * time.Millisecond, Log: slog.New(slog.NewTextHandler(&log, nil))})
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() { _ = c.Run(ctx) }()
			view(t, c)
			testwait.Advance(time.Second)
			if n := strings.Count(log.String(), "root not read"); n != lines {
				t.Errorf("%q: %d lines, not %d:\n%s", folder, n, lines, &log)
			}
		})
	}
}

// TestPokeDuringLateScan checks that another scan run follows if something changes during a late
// one, even if the source reports the change just as that run ends.
func TestPokeDuringLateScan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := source("a", "x/SKILL.md", text("x", "first"))
		scans := 0
		s := scanning{m, func(scan func() (skill.Scan, error), c *Catalog) (skill.Scan, error) {
			found, err := scan()
			if scans++; scans == 2 {
				<-time.After(time.Second)
				m.write("y/SKILL.md", text("y", "during the scan"))
				c.Poke()
				<-time.After(time.Millisecond)
			}
			return found, err
		}, new(*Catalog)}
		c := New([]Source{s}, Options{Patience: 20 * time.Millisecond})
		*s.catalog = c
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		go func() { _ = c.Run(ctx) }()
		view(t, c)
		c.Poke()
		testwait.Advance(5 * time.Second)
		if view(t, c).Named("y") == nil || scans != 3 {
			t.Errorf("after %d scans the change is not seen", scans)
		}
	})
}

// scanning is a source whose scans are made by a function.
type scanning struct {
	Source
	scan    func(scan func() (skill.Scan, error), c *Catalog) (skill.Scan, error)
	catalog **Catalog
}

func (s scanning) Scan(ctx context.Context) (skill.Scan, error) {
	return s.scan(func() (skill.Scan, error) { return s.Source.Scan(ctx) }, *s.catalog)
}

// placed is a source whose root has a folder.
type placed struct {
	Source
	folder string
}

func (p placed) Root() skill.Root {
	r := p.Source.Root()
	r.Dir = p.folder
	return r
}

// TestLateRootJoinsAtOnce checks that a late root joins as soon as it is read, without the
// wait that follows a change.
func TestLateRootJoinsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
		c := New([]Source{d}, Options{Patience: 20 * time.Millisecond})
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		joined := make(chan time.Time, 1)
		c.Subscribe(func(Diff) { joined <- time.Now() })
		go func() { _ = c.Run(ctx) }()
		view(t, c)
		testwait.Advance(time.Second)
		answered := time.Now()
		close(d.answer)
		if took := (<-joined).Sub(answered); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

// TestNoPatience checks that a refresh without patience waits until its context ends.
func TestNoPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
		c := New([]Source{d}, Options{})
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Millisecond)
		defer cancel()
		if err := c.Refresh(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("refresh: %v", err)
		}
		close(d.answer)
		if err := c.Refresh(context.Background()); err != nil || view(t, c).Named("x") == nil {
			t.Errorf("after the disk is back: %v", err)
		}
	})
}

// slow is a source whose disk is slow but keeps answering: a scan makes progress once per interval.
type slow struct {
	Source
	every time.Duration
	times int
}

func (s slow) Scan(ctx context.Context) (skill.Scan, error) {
	for range s.times {
		<-time.After(s.every)
		skill.Progress(ctx).Add(1)
	}
	return s.Source.Scan(ctx)
}

// TestWholePatience checks that a refresh with Options.Whole waits for a root as long as its disk
// answers. After that, it waits only for the patience for a root whose disk does not answer.
func TestWholePatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
		defer close(d.answer)
		s := slow{source("b", "y/SKILL.md", text("y", "in time")), 4 * time.Second, 10}
		c := New([]Source{d, s}, Options{Patience: 5 * time.Second, Whole: true})
		begun := time.Now()
		refresh(t, c)
		if took := time.Since(begun); took < 45*time.Second || took > 46*time.Second {
			t.Errorf("it took %s", took)
		}
		v := view(t, c)
		if v.Named("y") == nil || v.Roots[1].Err != nil || !v.Roots[0].Unread() {
			t.Errorf("the roots say %v and %v", v.Roots[0].Err, v.Roots[1].Err)
		}
	})
}

// TestCancelledRefreshEndsNoSharedLook checks that cancelled refreshes end no scan run that
// another refresh waits for. A slow root joins when it is read.
func TestCancelledRefreshEndsNoSharedLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := dead{source("a", "x/SKILL.md", text("x", "late")), make(chan struct{})}
		c := New([]Source{d}, Options{Patience: 50 * time.Millisecond})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		waitFor(t, "the root is late", func() bool { v := view(t, c); return errors.Is(v.Roots[0].Err, ErrLate) })
		c.mu.Lock()
		shared := c.sources[0].run
		c.mu.Unlock()
		cancelled := 0
		for range 10 {
			call, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			if c.Refresh(call) != nil {
				cancelled++
			}
			cancel()
		}
		if cancelled == 0 {
			t.Fatal("no refresh was cancelled")
		}
		c.mu.Lock()
		if c.sources[0].run != shared {
			t.Error("the look that others wait for is another one by now")
		}
		c.mu.Unlock()
		close(d.answer)
		waitFor(t, "the late root joins", func() bool { v := view(t, c); return v.Named("x") != nil && v.Roots[0].Err == nil })
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
}

// TestRunEndsLooks checks that the end of Run also ends a scan run that is still under way.
func TestRunEndsLooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scanning := make(chan context.Context, 1)
		c := New([]Source{hangs{source("a"), scanning}}, Options{Patience: time.Millisecond})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- c.Run(ctx) }()
		scan := <-scanning
		view(t, c) // the root is late by now
		stop()
		<-ended
		select {
		case <-scan.Done():
		case <-time.After(slowDay):
			t.Error("the look goes on")
		}
	})
}

// hangs is a source whose scan ends only when its context does.
type hangs struct {
	Source
	scanning chan<- context.Context
}

func (h hangs) Scan(ctx context.Context) (skill.Scan, error) {
	h.scanning <- ctx
	<-ctx.Done()
	return skill.Scan{}, ctx.Err()
}

// TestRootChangesWithoutSkills checks that a changed notice, and a changed target of a root that is
// a link, are published even if no skill was added or removed.
func TestRootChangesWithoutSkills(t *testing.T) {
	var notice skill.Notice
	var real string
	s := scanning{source("a", "x/SKILL.md", text("x", "one")), func(scan func() (skill.Scan, error), _ *Catalog) (skill.Scan, error) {
		found, err := scan()
		found.Notices, found.Real = []skill.Notice{notice}, real
		return found, err
	}, new(*Catalog)}
	c := catalogOf(t, s)
	for name, change := range map[string]func(){
		"path":    func() { notice.Path = "y" },
		"rule":    func() { notice.Rule = "link-outside" },
		"message": func() { notice.Message = "it is a link" },
		"fix":     func() { notice.Fix = "copy it" },
		"place":   func() { real = "/other" },
	} {
		change()
		refresh(t, c)
		if r := view(t, c).Roots[0]; r.Notices[0] != notice || r.Led != real {
			t.Errorf("%s: the root has %+v at %q", name, r.Notices[0], r.Led)
		}
	}
}
