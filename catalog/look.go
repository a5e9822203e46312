package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// ErrLate is why a root is shown as it was before, or empty: a look at it has not
// ended yet, since it is large or its disk does not answer. It joins as soon as it
// has.
var ErrLate = errors.New("it is still being read")

// errUnread is [ErrLate] of a root at which no look has ended yet.
var errUnread = fmt.Errorf("%w for the first time", ErrLate)

// A look is one scan of one source with the reading that follows from it. It runs
// on its own, so that a disk that does not answer holds up nobody else.
type look struct {
	done  chan struct{} // closed when root or err is there
	late  bool          // somebody went on without it; guarded by the catalogue's mu
	root  foundRoot
	err   error
	begun time.Time
	end   context.CancelFunc
}

// lookAtAll looks at the sources at once and waits for all of them; with
// patience, for no longer than that. What comes later asks for a refresh.
//
// joining: what has come late is taken in, and nobody waits again for what is late
// still.
func (c *Catalog) lookAtAll(ctx context.Context, sources []*held, joining bool) ([]foundRoot, error) {
	looks, own := make([]*look, len(sources)), make([]*held, 0, len(sources))
	for i, s := range sources {
		l, began := c.lookAt(ctx, s)
		if looks[i] = l; began {
			own = append(own, s)
		}
	}
	var patience <-chan time.Time
	if c.patience > 0 {
		t := time.NewTimer(c.patience)
		defer t.Stop()
		patience = t.C
	}
	found := make([]foundRoot, len(sources))
	late := false
	for i, l := range looks {
		if late || joining && c.wasLate(l) {
			select {
			case <-l.done:
			default:
			}
		} else {
			select {
			case <-l.done:
			case <-patience:
				late = true
			case <-ctx.Done():
				c.endLooks(own) // the others are waited for
				return nil, ctx.Err()
			}
		}
		r, err := c.taken(sources[i], l)
		if err != nil {
			return nil, err
		}
		found[i] = r
	}
	return found, nil
}

// wasLate reports whether a refresh went on without a look before.
func (c *Catalog) wasLate(l *look) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return l.late
}

// lookAt starts a look, or joins the one that is still under way: a source is
// scanned by one goroutine at a time.
func (c *Catalog) lookAt(ctx context.Context, h *held) (l *look, began bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.look != nil {
		return h.look, false
	}
	// It may outlive the refresh that began it, so it has a context of its own.
	ctx, end := context.WithCancel(skill.WithProgress(context.WithoutCancel(ctx), &c.progress))
	l = &look{done: make(chan struct{}), begun: time.Now(), end: end}
	h.look = l
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

// taken is the result of a look, or, while there is none, what the root had
// before.
func (c *Catalog) taken(h *held, l *look) (foundRoot, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-l.done:
		h.look = nil
		if l.err != nil {
			return foundRoot{}, l.err
		}
		if !l.root.kept {
			h.last = l.root.scan
		}
		return l.root, nil
	default:
	}
	l.late = true
	r := foundRoot{status: RootStatus{Root: h.Root(), Err: errUnread}, begun: l.begun}
	if now := c.current.Load(); now != nil {
		for _, f := range now.basis() {
			if f.status.Root == h.Root() {
				r = f
				r.skills = slices.Clone(f.skills)
				r.same = true
			}
		}
	}
	if !r.status.Unread() {
		r.status.Err = ErrLate
	}
	return r, nil
}

// endLooks ends looks that nobody waits for any more.
func (c *Catalog) endLooks(sources []*held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range sources {
		if h.look != nil {
			h.look.end()
			h.look = nil
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
		r.status.Err, r.kept, scan = err, true, last
	default:
		r.status.Err = err
		byPath := func(a, b *skill.Bundle) int { return cmp.Compare(a.Path, b.Path) }
		if !slices.IsSortedFunc(scan.Bundles, byPath) {
			slices.SortFunc(scan.Bundles, byPath)
			scan.Skills = nil
		}
	}
	loaded := scan.Skills
	scan.Skills = nil // they are not to live as long as the scan
	r.scan, r.status.Missing, r.status.Notices = scan, scan.Missing, scan.Notices
	if c.sameAsNow(&r) {
		r.same = true
		return r, nil
	}
	c.reuse(&r)
	for _, i := range r.read {
		if len(loaded) > 0 {
			r.skills[i] = loaded[i]
		}
	}
	if err := loadAll(ctx, &r, first); err != nil {
		return r, err
	}
	// A file that went away between the scan and the reading is as gone as one that
	// the scan did not see: nothing is left to be skipped.
	r.forget(gone)
	r.claim(r.skills...)
	return r, nil
}

// reuse takes over what is already known and notes what must be read. Of a root
// that cannot be read now, what is known stays as it is.
func (c *Catalog) reuse(r *foundRoot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r.skills = make([]*skill.Skill, len(r.scan.Bundles))
	was := inOrder(c.known[r.status.Label])
	if len(was) == 0 {
		r.read = make([]int, 0, len(r.skills))
	}
	for i, b := range r.scan.Bundles {
		pause(i)
		if k := was.at(b.Path); k.skill != nil && (r.kept || c.settled(r.status.Label, k) && b.Same(k.skill.Bundle)) {
			r.skills[i] = k.skill
			continue
		}
		r.read = append(r.read, i)
	}
}

// loadAll reads what must be read: with every processor the first time, with one
// at a refresh, so that calls in between are not delayed.
func loadAll(ctx context.Context, r *foundRoot, first bool) error {
	workers := 1
	if first {
		workers = 2 * runtime.GOMAXPROCS(0)
	}
	next, progress := make(chan int), skill.Progress(ctx)
	var wg sync.WaitGroup
	for range min(workers, len(r.read)) {
		wg.Go(func() {
			for i := range next {
				r.skills[i] = skill.Load(r.scan.Bundles[i])
				progress.Add(1)
			}
		})
	}
	for _, i := range r.read {
		if ctx.Err() != nil {
			break
		}
		if r.skills[i] != nil {
			continue // the source has loaded it
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return ctx.Err()
}
