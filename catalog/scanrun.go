package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// ErrLate is the reason that a root is empty or in its previous state. Its scan run has not ended
// yet, because the root is large or its disk does not answer. The catalogue uses the result as soon
// as the run ends.
var ErrLate = errors.New("it is still being read")

// errUnread is [ErrLate] for a root before its first scan run has ended.
var errUnread = fmt.Errorf("%w for the first time", ErrLate)

// scanRun is one scan run: the scan of one source, and the reads that follow from it. It has its
// own goroutine, so a disk that does not answer delays no other root.
type scanRun struct {
	done  chan struct{} // closed when root or err is set
	late  bool          // a refresh did not wait for it; guarded by the catalogue's mu
	again bool          // a source was poked since it began; guarded by the catalogue's mu
	root  foundRoot
	err   error
	begun time.Time
	end   context.CancelFunc
}

// steps is the number of parts into which the patience is divided. After each part, progress is
// checked. So the patience begins again soon after a disk has answered.
const steps = 10

// scanAll scans the sources in parallel and waits for all of them, but at most for
// [Options.Patience]; see also [Options.Whole]. A run that ends later requests a refresh.
//
// If joining is set, scanAll uses runs that ended late, and does not wait again for runs that are
// still late.
func (c *Catalog) scanAll(ctx context.Context, sources []*sourceState, joining bool) ([]foundRoot, error) {
	runs, own := make([]*scanRun, len(sources)), make([]*sourceState, 0, len(sources))
	for i, s := range sources {
		l, began := c.startScan(ctx, s)
		if runs[i] = l; began {
			own = append(own, s)
		}
	}
	var timer *time.Timer
	var patience <-chan time.Time
	if c.patience > 0 {
		timer = time.NewTimer(c.patience / steps)
		defer timer.Stop()
		patience = timer.C
	}
	read, idle := c.progress.Load(), 0
	found := make([]foundRoot, len(sources))
	late := false
	for i, l := range runs {
		for waiting := !late && !(joining && c.wasLate(l)); waiting; {
			waiting = false
			select {
			case <-l.done:
			case <-patience:
				if now := c.progress.Load(); c.whole && now != read {
					read, idle = now, 0
				} else {
					idle++
				}
				if late = idle == steps; !late {
					waiting = true
					timer.Reset(c.patience / steps)
				}
			case <-ctx.Done():
				c.endScans(own) // another refresh waits for the others
				return nil, ctx.Err()
			}
		}
		r, err := c.resultOf(sources[i], l)
		if err != nil {
			return nil, err
		}
		found[i] = r
	}
	return found, nil
}

// wasLate reports whether an earlier refresh did not wait for a scan run.
func (c *Catalog) wasLate(l *scanRun) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.late
}

// startScan starts a scan run, or returns the one that is under way. So only one goroutine at a
// time scans a source.
func (c *Catalog) startScan(ctx context.Context, h *sourceState) (l *scanRun, began bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.run != nil {
		return h.run, false
	}
	// The run may outlive the refresh that began it, so it has its own context.
	ctx, end := context.WithCancel(skill.WithProgress(context.WithoutCancel(ctx), &c.progress))
	l = &scanRun{done: make(chan struct{}), begun: time.Now(), end: end}
	h.run = l
	first, last := c.current.Load() == nil, h.last
	go func() {
		defer end()
		l.root, l.err = c.scanAndLoad(ctx, h, last, first)
		l.root.begun = l.begun
		close(l.done)
		c.mu.Lock()
		defer c.mu.Unlock()
		if l.late {
			select {
			case c.ended <- struct{}{}:
			default:
			}
		}
	}()
	return l, true
}

// resultOf returns the result of a scan run. Until the run ends, it returns the root's previous
// state.
func (c *Catalog) resultOf(h *sourceState, l *scanRun) (foundRoot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-l.done:
		h.run = nil
		if l.again {
			c.Poke()
		}
		if l.err != nil {
			return foundRoot{}, l.err
		}
		if !l.root.stale {
			h.last = l.root.scan
		}
		return l.root, nil
	default:
	}
	l.late = true
	r := foundRoot{status: RootStatus{Root: h.Root(), Err: errUnread}, begun: l.begun}
	if was := c.current.Load().rootState(h.Root()); was != nil {
		r = *was
		r.skills, r.same = slices.Clone(was.skills), true
	}
	if !r.status.Unread() {
		r.status.Err = ErrLate
	}
	return r, nil
}

// poked marks the scan runs under way, because they may lack a change. After each of them, another
// run begins.
func (c *Catalog) poked() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.sources {
		if h.run != nil {
			h.run.again = true
		}
	}
}

// endScans ends the scan runs of sources for which no caller waits any more.
func (c *Catalog) endScans(sources []*sourceState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range sources {
		if h.run != nil {
			h.run.end()
			h.run = nil
		}
	}
}

func (c *Catalog) scanAndLoad(ctx context.Context, s Source, last skill.Scan, first bool) (foundRoot, error) {
	r := foundRoot{status: RootStatus{Root: s.Root()}}
	scan, err := s.Scan(ctx)
	switch {
	case ctx.Err() != nil:
		return r, ctx.Err()
	case err != nil && !scan.Missing:
		r.status.Err, r.stale, scan = err, true, last
	default:
		r.status.Err = err
		byPath := func(a, b *skill.Bundle) int { return cmp.Compare(a.Path, b.Path) }
		if !slices.IsSortedFunc(scan.Bundles, byPath) {
			slices.SortFunc(scan.Bundles, byPath)
			scan.Skills = nil
		}
	}
	loaded := scan.Skills
	scan.Skills = nil // the skills need not live as long as the scan
	r.scan, r.status.Missing, r.status.Notices, r.status.Led = scan, scan.Missing, scan.Notices, scan.Real
	if c.sameAsNow(&r) {
		r.same = true
		return r, nil
	}
	read := c.reuse(&r)
	for _, i := range read {
		if len(loaded) > 0 {
			r.skills[i].Skill = loaded[i]
		}
	}
	if err := loadAll(ctx, &r, read, first); err != nil {
		return r, err
	}
	// A file that disappeared between the scan and the read counts as gone, as if the scan had not
	// seen it.
	r.skills = slices.DeleteFunc(r.skills, func(s cachedSkill) bool { return isRemoved(s.Skill) })
	r.claim(r.skills...)
	return r, nil
}

// loadAll reads the skills with the given indexes. It uses every processor the first time, and one
// at a refresh, so that calls are not delayed.
func loadAll(ctx context.Context, r *foundRoot, read []int, first bool) error {
	workers := 1
	if first {
		workers = 2 * runtime.GOMAXPROCS(0)
	}
	progress := skill.Progress(ctx)
	limit.Parallel(workers, len(read), func(n int) {
		i := read[n]
		if ctx.Err() != nil || r.skills[i].Skill != nil {
			return // the context has ended, or the source has loaded the skill
		}
		r.skills[i].Skill = skill.Load(r.scan.Bundles[i])
		progress.Add(1)
	})
	return ctx.Err()
}

// isRemoved reports whether the file no longer exists, which the next scan will show. A dangling
// link counts as existing.
func isRemoved(s *skill.Skill) bool {
	if s.Fault() != nil {
		return false
	}
	for _, p := range s.Problems {
		if p.Rule == frontmatter.FileGone {
			return true
		}
	}
	return false
}
