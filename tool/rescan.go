package tool

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
)

// Contracts 000 and 001 read the disk at each call, and what makes a skill of a
// folder may be newer than the snapshot.

// rescanPatience is how long a call waits for a new snapshot.
const rescanPatience = 2 * time.Second

// rescan lets one call at a time look at all roots again.
type rescan struct {
	once  sync.Once
	turn  chan struct{}
	begun time.Time // of the last one that was completed; who has the turn may look
}

// find finds a skill by a valid folder name, and whether there is such a folder.
// Where there is one of which the snapshot knows nothing, all roots are looked at
// once more: only then, so that unknown names cost no scan.
func (h *Host) find(ctx context.Context, v catalog.View, name string, by func(catalog.View, string) *catalog.Entry) (catalog.View, *catalog.Entry, bool) {
	e := by(v, name)
	if e != nil || v.InFolder(name) != nil {
		return v, e, true
	}
	if !v.HasFolder(ctx, name) {
		return v, nil, false
	}
	if h.look(ctx) == nil {
		if now, err := h.Catalog.View(ctx); err == nil {
			v = now
		}
	}
	return v, by(v, name), true
}

// look refreshes the catalogue, or waits for another call to do it that begins
// after this one.
func (h *Host) look(ctx context.Context) error {
	asked := time.Now()
	ctx, cancel := context.WithTimeout(ctx, rescanPatience)
	defer cancel()
	r := &h.rescan
	r.once.Do(func() { r.turn = make(chan struct{}, 1) })
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if r.begun.After(asked) {
		return nil
	}
	begun := time.Now()
	err := h.Catalog.Refresh(ctx)
	if err == nil {
		r.begun = begun
	}
	return err
}
