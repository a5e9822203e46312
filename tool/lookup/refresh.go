package lookup

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// A skill that is asked for by name may be newer than the snapshot. Before any contract
// says that there is no such skill, the disk is asked:
//
//   - Each root lists its folders once. If one of them has the skill's name and a SKILL.md,
//     and the snapshot does not know it, or skipped it for an earlier state of the file, all
//     roots are refreshed at once. So a skill in a folder of its name that was there before
//     the call is found. A folder that a refresh leaves unknown, such as a second link to
//     another, causes no further refresh for an interval, and no more than [maxFruitless]
//     folders do.
//   - Only a refresh finds a skill that is deeper, or in a folder of another name. It happens
//     if the last one began longer ago than [minInterval] and ten times its duration: absent
//     names cost at most a tenth of the time, however many are asked for.
//
// All callers share one refresh, and wait for it, and for a root to list its folders, at most
// for [patience]; a root that did not answer is not asked again until it has. If a root has
// not answered, or no refresh has ended in time, no contract says that there is no such skill:
// the answer is [ErrBusy] or a [catalog.Incomplete].
//
// The name is compared with the roots' entries and becomes no part of a path.
const (
	patience    = 2 * time.Second
	minInterval = time.Second
	costFactor  = 10 // an interval is at least so many times the duration of a refresh

	maxFruitless = 4
)

// refresh is a refresh that calls share.
type refresh struct {
	mu        sync.Mutex
	running   *run                 // nil if none is under way
	fruitless map[string]fruitless // by label and name of the folder
}

// fruitless is a folder that a refresh left unknown. It is not tried again until a given
// time, unless its file changes.
type fruitless struct {
	file  skill.Stamp
	until time.Time
}

// run is one refresh.
type run struct {
	begun time.Time
	done  chan struct{}
}

// Fresh returns a view that knows the folders with matching names at the time of the call,
// and whether there are any. If the view may lack some, unsure says why; see [IsUnsure].
func (f *Finder) Fresh(ctx context.Context, v catalog.View, match func(string) bool) (now catalog.View, folder bool, unsure error) {
	folders, all := foldersNow(ctx, v, match)
	asked := time.Now() // after listing, since a refresh that began before may have missed the folders
	last, took := f.Catalog.Refreshed()
	// The caller's view may be older than that refresh, which may have found a root late.
	if now, err := f.Catalog.View(ctx); err == nil {
		v = now
	}
	interval := max(minInterval, costFactor*took)
	worthIt, deferred := false, false
	for _, folder := range folders {
		if isUnknown(v, folder) {
			worth, inVain := f.refresh.isWorth(folder, asked)
			worthIt, deferred = worthIt || worth, deferred || !inVain
		}
	}
	switch {
	case worthIt || asked.Sub(last.Add(-took)) >= interval:
		ended := f.wait(ctx, asked)
		all = all && ended && f.Catalog.ScannedSince(asked)
		if now, err := f.Catalog.View(ctx); err == nil {
			v = now
		}
		unknown := slices.DeleteFunc(slices.Clone(folders), func(f catalog.FolderNow) bool { return !isUnknown(v, f) })
		if ended && len(unknown) > 0 {
			still, _ := foldersNow(ctx, v, match)
			f.refresh.note(unknown, still, asked.Add(interval))
		}
	case deferred:
		all = false // no refresh, since too many others were in vain
	}
	if lacks := v.Unsure(); lacks != nil {
		unsure = lacks
	} else if !all {
		unsure = ErrBusy
	}
	if unsure != nil {
		catalog.TraceOf(ctx).Failed(skill.ErrBusy) // the audit log tells it from "not found"
	}
	return v, len(folders) > 0, unsure
}

// foldersNow lists the folders on the current disk; all is false if a root did not answer.
func foldersNow(ctx context.Context, v catalog.View, match func(string) bool) (found []catalog.FolderNow, all bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return v.FoldersNow(ctx, match)
}

// isUnknown reports whether a folder may have a skill that the snapshot does not know.
func isUnknown(v catalog.View, f catalog.FolderNow) bool {
	return (f.Main || f.Err != nil) && !v.UpToDate(f)
}

// wait waits for a refresh of all roots that began after the moment asked, and reports
// whether it finished; it may have left out roots that are late, see
// [catalog.Catalog.ScannedSince]. A refresh without waiting callers continues for the next one.
// No caller waits behind one that hangs.
func (f *Finder) wait(ctx context.Context, asked time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for again := false; ; {
		r := f.refresh.join(f.Catalog)
		if time.Since(r.begun) > patience {
			return false
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			return false
		}
		switch {
		case again, f.Catalog.ScannedSince(asked):
			return true
		case !r.begun.Before(asked):
			again = true // it may have joined a scan of a root that began before
		}
	}
}

// join returns the refresh that is under way, or begins one.
func (r *refresh) join(c *catalog.Catalog) *run {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		return r.running
	}
	one := &run{begun: time.Now(), done: make(chan struct{})}
	r.running = one
	go func() {
		_ = c.Refresh(context.Background()) // the error is the context's
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running = nil
		close(one.done)
	}()
	return one
}

// isWorth reports whether a refresh may help to know a folder, and whether one has been in
// vain.
func (r *refresh) isWorth(f catalog.FolderNow, asked time.Time) (worth, inVain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.fruitless, func(_ string, f fruitless) bool { return asked.After(f.until) })
	known, ok := r.fruitless[f.Root.Label+"/"+f.Name]
	if ok {
		return known.file != f.Stamp, known.file == f.Stamp
	}
	return len(r.fruitless) < maxFruitless, false
}

// note records the folders that are still unknown and unchanged since before the refresh. A
// folder that changed meanwhile may be worth another one.
func (r *refresh) note(unknown, now []catalog.FolderNow, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range unknown {
		if !slices.ContainsFunc(now, func(n catalog.FolderNow) bool {
			return n.Root == f.Root && n.Name == f.Name && n.Stamp == f.Stamp
		}) {
			continue
		}
		if r.fruitless == nil {
			r.fruitless = map[string]fruitless{}
		}
		r.fruitless[f.Root.Label+"/"+f.Name] = fruitless{f.Stamp, until}
	}
}
