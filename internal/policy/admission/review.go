package admission

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
)

// reviewEvery is the interval at which the files of the skills are compared with the scanned files.
const reviewEvery = catalog.DefaultInterval

// review scans the skills of a catalogue in the background until the context ends, if the policy
// shows findings without holding skills back. It uses at most one processor.
func (ctl *Controller) review(ctx context.Context, c *catalog.Catalog) {
	if ctl.o.Config.Mode != Review {
		return
	}
	changed := make(chan struct{}, 1)
	defer c.Subscribe(func(catalog.Diff) {
		select {
		case changed <- struct{}{}:
		default:
		}
	})()
	large := map[skillPlace][]skill.File{}
	for {
		if v, err := c.View(ctx); err == nil {
			ctl.reviewAll(ctx, v, large)
		}
		select {
		case <-changed:
		case <-time.After(reviewEvery):
		case <-ctx.Done():
			return
		}
	}
}

// reviewAll scans the skills of a view that are not in the cache. large keeps the files of the
// skills that are too large for a manifest.
func (ctl *Controller) reviewAll(ctx context.Context, v catalog.View, large map[skillPlace][]skill.File) {
	seen := map[skillPlace]bool{}
	for _, e := range v.Entries {
		at := placeOf(e.Root, e.Path)
		seen[at] = true
		if e.Status == catalog.Skipped {
			continue
		}
		now, files, err := v.Manifest(ctx, e)
		if errors.Is(err, skill.ErrTooLarge) {
			if files, err = e.LargeManifest(ctx, large[at], maxFiles, maxSize); err == nil {
				large[at] = files
			}
		}
		if ctx.Err() != nil {
			return
		}
		c := &policy.Candidate{Skill: now.Skill, Root: *e.Root, Files: files, Set: skill.SetOf(files), Err: err}
		if err == nil {
			ctl.o.Cache.remember(at.key(), judgedFiles{Files: files, Set: c.Set})
		}
		if err == nil && ctl.o.Cache.report(c.Set) == nil {
			_ = ctl.scan(ctx, c) // a skill that changes meanwhile is judged in the next round
		}
		ctl.decide(c)
	}
	ctl.forget(func(at skillPlace) bool { return !seen[at] })
}

// forget drops the verdicts on skills that are gone.
func (ctl *Controller) forget(gone func(skillPlace) bool) {
	ctl.mu.Lock()
	defer ctl.mu.Unlock()
	maps.DeleteFunc(ctl.last, func(at skillPlace, _ Verdict) bool { return gone(at) })
}
