package catalog

import "time"

// refreshed is when the last refresh ended, and how long it took.
type refreshed struct {
	at   time.Time
	took time.Duration
}

// Refreshed returns when the last refresh ended and how long it took. Before the
// first one the time is zero.
func (c *Catalog) Refreshed() (at time.Time, took time.Duration) {
	if r := c.last.Load(); r != nil {
		return r.at, r.took
	}
	return time.Time{}, 0
}
