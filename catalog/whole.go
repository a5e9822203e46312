package catalog

import (
	"context"
	"time"
)

// Timing of [Catalog.Whole].
const (
	// wholeStill is how long Whole waits without any progress: then the disk does not
	// answer. A busy machine gives every process its turn sooner. It is a little more than
	// the patience of a server (2 s), so that the other roots are ready by then.
	wholeStill = 2500 * time.Millisecond
	wholeTick  = 20 * time.Millisecond
)

// Whole is [Catalog.View], but waits until every root was read once. It gives up when
// the scan runs of the missing roots began longer ago than most, or when nothing was
// read for some time. Then the view lacks those roots, and their status says so
// ([RootStatus.Unread]). The error is the context's, or [ErrLate] before the first
// snapshot.
func (c *Catalog) Whole(ctx context.Context, most time.Duration) (View, error) {
	if c.isWhole(most) {
		return c.View(ctx)
	}
	end := time.NewTimer(most)
	defer end.Stop()
	tick := time.NewTicker(wholeTick)
	defer tick.Stop()
	first := c.ready
	done, since := c.progress.Load(), time.Now()
	for waiting := true; waiting && !c.isWhole(most); {
		select {
		case <-first:
			first = nil // closed; wait for the other cases
		case <-tick.C:
		case <-end.C:
			waiting = false
		case <-ctx.Done():
			return View{}, ctx.Err()
		}
		if now := c.progress.Load(); now != done {
			done, since = now, time.Now()
		}
		waiting = waiting && time.Since(since) < wholeStill
	}
	select {
	case <-c.ready:
		return c.View(ctx)
	default:
		return View{}, ErrLate
	}
}

// isWhole reports whether every listed root was read once. It does not wait for a root
// whose scan run began longer ago than most.
func (c *Catalog) isWhole(most time.Duration) bool {
	now := c.current.Load()
	if now == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, h := range c.sources {
		root := h.Root()
		if h.look != nil && time.Since(h.look.begun) >= most || root.Unlisted {
			continue
		}
		if r := now.status(&root, i); r == nil || r.Unread() {
			return false
		}
	}
	return true
}
