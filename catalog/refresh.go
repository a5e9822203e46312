package catalog

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Run scans immediately, then after every change that a source reports and at least once per
// interval, until the context ends. A source that fails keeps its last good skills.
func (c *Catalog) Run(ctx context.Context) error {
	defer c.stop()
	if err := c.Refresh(ctx); err != nil {
		return err
	}
	for {
		c.watch(ctx)
		joining := false
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(c.period()):
		case <-c.poke:
			c.settle(ctx)
			c.poked()
		case <-c.ended:
			joining = true
		}
		select {
		case <-c.ended: // the refresh below uses the result of that run
		default:
		}
		if err := c.refresh(ctx, joining); err != nil {
			return err
		}
	}
}

const (
	// restShare is the minimum rest after a refresh, as a multiple of the refresh's duration. With
	// it, periodic refreshes take about 1 % of a processor.
	restShare = 100
	// restMost bounds the rest between refreshes. Contract 002 requires a refresh at least every 30
	// seconds, even if refreshes are slow.
	restMost = DefaultInterval
)

// period returns the time from the last refresh to the next periodic one. It is longer
// if many skills make a refresh costly.
func (c *Catalog) period() time.Duration {
	return max(c.interval, min(time.Duration(c.rest.Load()), restMost))
}

// stop ends the scan runs that are still under way.
func (c *Catalog) stop() {
	c.mu.Lock()
	all := slices.Concat(c.dropped, c.sources)
	c.mu.Unlock()
	c.endScans(all)
}

// settle waits until no poke has come for a moment, but at most for settleMost.
func (c *Catalog) settle(ctx context.Context) {
	most := time.After(settleMost)
	for {
		select {
		case <-c.poke:
		case <-time.After(settle):
			return
		case <-most:
			return
		case <-ctx.Done():
			return
		}
	}
}

// watch starts the watchers of new sources, then ends the watchers and scan runs of removed
// sources.
func (c *Catalog) watch(ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.sources {
		w, ok := h.Source.(Watcher)
		if !ok || h.endWatch != nil {
			continue
		}
		var sub context.Context
		sub, h.endWatch = context.WithCancel(ctx)
		time.AfterFunc(watchDelay, func() { w.Watch(sub, c.Poke) })
	}
	for _, h := range c.dropped {
		if h.endWatch != nil {
			h.endWatch()
		}
		if h.run != nil {
			h.run.end()
		}
	}
	c.dropped = nil
}

// Refresh scans every source once and publishes the result. It fails only if the
// context ends. Meanwhile, calls use the previous snapshot.
func (c *Catalog) Refresh(ctx context.Context) error { return c.refresh(ctx, false) }

func (c *Catalog) refresh(ctx context.Context, joining bool) error {
	select {
	case c.refreshing <- struct{}{}:
		defer func() { <-c.refreshing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	begun := time.Now()
	c.mu.Lock()
	sources := c.sources
	c.mu.Unlock()
	found, err := c.scanAll(ctx, sources, joining)
	if err != nil {
		return err
	}
	scanned := firstBegun(found)
	twins := c.compareTwins(ctx, found, c.current.Load() == nil)
	other := c.refreshClients()
	c.mu.Lock()
	now := c.current.Load()
	skills, all := c.keepUnchanged(found, now)
	if note(twins, found) {
		skills, all = false, false
	}
	switch {
	case all && !other:
	case skills:
		next := now.restated(found)
		c.logProblems(next)
		c.publish(next)
	default:
		c.mergeReads(found)
		c.rebuild(found)
	}
	c.refreshed = time.Now()
	c.took, c.scanned = c.refreshed.Sub(begun), scanned
	if now != nil { // the first refresh does not count, since it reads all skills, with every processor
		c.rest.Store(int64(restShare * c.took))
	}
	c.mu.Unlock()
	c.notify()
	return nil
}

// sameAsNow reports whether the scan equals the scan from which the snapshot was built.
func (c *Catalog) sameAsNow(r *foundRoot) bool {
	now := c.current.Load()
	if now == nil || r.stale {
		return false
	}
	was := now.rootState(r.status.Root)
	switch {
	case was == nil:
		return false
	case r.scan.Missing && len(r.scan.Notices) == 0: // most of the possible roots do not exist
		return was.status.Missing && len(was.skills)+len(was.status.Notices) == 0
	}
	return r.scan.Version != 0 && was.version == r.scan.Version && (was.status.Err == nil || was.status.Late())
}

// For each root that has not changed, keepUnchanged uses the snapshot's state. That state may be
// newer than the scan run, because a call may have found changes meanwhile.
//
// keepUnchanged reports whether all skills are the same, and whether the status of the roots is the
// same too. The caller holds mu.
func (c *Catalog) keepUnchanged(found []foundRoot, now *Snapshot) (skills, all bool) {
	if now == nil {
		return false, false
	}
	basis := now.basis()
	skills = len(found) == len(basis)
	all = skills
	for i := range found {
		r := &found[i]
		if !r.same {
			skills = false
			continue
		}
		was := now.rootState(r.status.Root)
		skills = skills && i < len(basis) && basis[i].status.Root == r.status.Root
		if was == nil {
			skills = false
			continue
		}
		all = all && was.status.Err == nil && r.status.Err == nil
		begun, status := r.begun, r.status
		*r = *was
		r.begun, r.status, r.skills, r.same = begun, status, slices.Clone(was.skills), true
	}
	return skills, skills && all
}

// rootState returns the snapshot's state of a root, or nil.
func (s *Snapshot) rootState(root skill.Root) *foundRoot {
	found := s.basis()
	for i := range found {
		if f := &found[i]; f.status.Root == root {
			return f
		}
	}
	return nil
}

// Refreshed returns when the last completed refresh ended, and how long it took. Before the
// first one the time is zero.
func (c *Catalog) Refreshed() (ended time.Time, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refreshed, c.took
}

// ScannedSince reports whether the last refresh used a scan run of every root, and none of these
// began before t. A refresh may join running scan runs, or continue without them.
func (c *Catalog) ScannedSince(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.scanned.Before(t)
}

// firstBegun returns when the first of the scan runs began, or the zero time if one of them has not
// ended.
func firstBegun(found []foundRoot) time.Time {
	first := time.Now()
	for i := range found {
		switch f := &found[i]; {
		case f.status.Late():
			return time.Time{}
		case f.begun.Before(first):
			first = f.begun
		}
	}
	return first
}

// foundRoot is the state of one root: the scan, and the skills in it.
type foundRoot struct {
	status RootStatus
	scan   skill.Scan
	stale  bool          // the root cannot be read now, and scan is the last good one
	skills []cachedSkill // in path order
	begun  time.Time     // when the scan run began
	// version is the scan's version, or 0 if it cannot be compared. It can be compared only if
	// every skill was read, and none is so young that its stamp proves nothing.
	version uint64
	same    bool // nothing has changed, and the snapshot's state stays
	// claimed contains the paths made of skill names that no skill may have; see [foundRoot.claim].
	claimed map[string]bool
}

// rebuild builds and publishes a snapshot. It drops the doubted stamps of files that are gone or
// have changed. The caller holds mu.
func (c *Catalog) rebuild(found []foundRoot) {
	prev := c.current.Load()
	next := build(found)
	if prev != nil {
		next.Version = prev.Version + 1
		next.keepBlocked(prev)
	}
	next.found.Store(&found)
	c.logProblems(next)
	c.publish(next)
	maps.DeleteFunc(c.doubted, func(at placeIn, stamp skill.Stamp) bool {
		k := c.cached(at)
		return k.Skill == nil || k.Stamp != stamp
	})
}

// update updates the catalogue before a call answers. The call found other bytes on disk, or a
// missing file. update returns the snapshot with that change, or the current snapshot if another
// call was faster.
func (c *Catalog) update(e *Entry, fresh *skill.Skill, begun time.Time) *Snapshot {
	claims := foundRoot{}
	if f := c.current.Load().rootState(*e.Root); f != nil {
		claims = *f
		claims.claim(cachedSkill{Skill: fresh})
	}
	c.mu.Lock()
	prev := c.current.Load()
	at := placeIn{*e.Root, e.Path}
	if now := prev.samePlace(e); now == nil || now.Skill != e.Skill || c.cached(at).after(begun) {
		c.mu.Unlock()
		return prev
	}
	found := slices.Clone(prev.basis())
	for r := range found {
		f := &found[r]
		if f.status.Root != *e.Root {
			continue
		}
		f.claimed = claims.claimed
		f.skills = slices.Clone(f.skills)
		i := slices.IndexFunc(f.skills, func(s cachedSkill) bool { return s.Path == e.Path })
		if i < 0 {
			continue
		}
		if isRemoved(fresh) {
			f.skills = slices.Delete(f.skills, i, i+1)
			c.gone[at] = begun
			continue
		}
		f.skills[i] = cachedSkill{Skill: fresh, read: &begun}
		if fresh.Stamp == e.Stamp && fresh.Digest != e.Digest {
			c.doubted[at], f.version = fresh.Stamp, 0
		}
	}
	c.rebuild(found)
	c.mu.Unlock()
	c.Poke()
	c.notify()
	return c.current.Load()
}
