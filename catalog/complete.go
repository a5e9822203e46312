package catalog

import (
	"context"
	"time"
)

// Timing of [Catalog.CompleteView].
const (
	// stallLimit is how long CompleteView waits without any progress. After that, it assumes that
	// the disk does not answer. Even a busy machine gives every process its turn sooner. The limit
	// is a little more than the patience of a server (2 s), so that the other roots are ready by
	// then.
	stallLimit = 2500 * time.Millisecond
	stallTick  = 20 * time.Millisecond
)

// CompleteView is like [Catalog.View], but waits until every root was read once. It gives up if the
// scan runs of the missing roots began longer ago than most, or if nothing was read for some time.
// The view then lacks those roots, and their status says so ([RootStatus.Unread]). The error is the
// context's, or [ErrLate] before the first snapshot.
func (c *Catalog) CompleteView(ctx context.Context, most time.Duration) (View, error) {
	if c.isComplete(most) {
		return c.View(ctx)
	}
	end := time.NewTimer(most)
	defer end.Stop()
	tick := time.NewTicker(stallTick)
	defer tick.Stop()
	first := c.ready
	done, since := c.progress.Load(), time.Now()
	for waiting := true; waiting && !c.isComplete(most); {
		select {
		case <-first:
			first = nil // it is closed: wait for the other cases
		case <-tick.C:
		case <-end.C:
			waiting = false
		case <-ctx.Done():
			return View{}, ctx.Err()
		}
		if now := c.progress.Load(); now != done {
			done, since = now, time.Now()
		}
		waiting = waiting && time.Since(since) < stallLimit
	}
	select {
	case <-c.ready:
		return c.View(ctx)
	default:
		return View{}, ErrLate
	}
}

// isComplete reports whether every listed root was read once. It does not wait for a root
// whose scan run began longer ago than most.
func (c *Catalog) isComplete(most time.Duration) bool {
	now := c.current.Load()
	if now == nil {
		return false
	}
	if now.complete.Load() == c.wanted.Load() {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, h := range c.sources {
		root := h.Root()
		if h.run != nil && time.Since(h.run.begun) >= most || root.Unlisted {
			continue
		}
		if r := now.status(&root, i); r == nil || r.Unread() {
			return false
		}
	}
	return true
}
