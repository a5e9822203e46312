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

// A skill that a call names may be newer than the snapshot. Before a contract answers that there is
// no such skill, [Finder.Fresh] looks at the disk:
//
//   - It lists the folders of each root. A folder with the skill's name and a SKILL.md may be
//     missing from the snapshot, or skipped there for an earlier state of the file. All roots are
//     then refreshed immediately. This finds every skill whose folder has its name and existed
//     before the call. A refresh may leave such a folder unknown, for example a second link to
//     another folder. The folder then causes no further refresh for an interval. At most
//     [maxFruitless] folders are tried in vain in that time.
//   - Only a refresh finds a skill in a deeper folder, or in a folder with another name. It is made
//     if the last refresh began longer ago than [minInterval] and than ten times its duration.
//     Names of missing skills thus cost at most a tenth of the time, however many are looked up.
//
// All callers share one refresh. They wait at most for [patience] until it ends, and until a root
// has listed its folders. A root that did not answer gets no further request until it has answered.
// If a root has not answered, or no refresh has ended in time, no contract answers that there is no
// such skill: the error is [ErrBusy] or a [catalog.Incomplete].
//
// The name is only compared with the roots' entries, and never becomes part of a path.
const (
	patience    = 2 * time.Second
	minInterval = time.Second
	costFactor  = 10 // an interval is at least this many times as long as a refresh

	maxFruitless = 4
)

// refresh is a refresh that calls share.
type refresh struct {
	mu        sync.Mutex
	running   *run                 // nil if none is under way
	fruitless map[string]fruitless // by label and name of the folder
}

// fruitless is a folder that a refresh did not add to the snapshot. It is not tried again before a
// given time, unless its file changes.
type fruitless struct {
	file  skill.Stamp
	until time.Time
}

// run is one refresh.
type run struct {
	begun time.Time
	done  chan struct{}
}

// Fresh returns a view with the skills in the folders whose names match at the time of the call. It
// also reports whether there are such folders. If the view may lack some of the skills, unsure is
// the reason; see [IsUnsure].
func (f *Finder) Fresh(ctx context.Context, v catalog.View, match func(string) bool) (now catalog.View, folder bool, unsure error) {
	folders, all := foldersNow(ctx, v, match)
	asked := time.Now() // after listing, because an earlier refresh may have missed the folders
	last, took := f.Catalog.Refreshed()
	// The caller's view may be older than the last refresh, which may have found a root late.
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
		all = false // too many refreshes were in vain, so none is made
	}
	if lacks := v.Unsure(); lacks != nil {
		unsure = lacks
	} else if !all {
		unsure = ErrBusy
	}
	if unsure != nil {
		catalog.TraceOf(ctx).Failed(skill.ErrBusy) // the audit log then shows a different reason than "not found"
	}
	return v, len(folders) > 0, unsure
}

// foldersNow lists the folders that are on the disk now. all is false if a root did not answer.
func foldersNow(ctx context.Context, v catalog.View, match func(string) bool) (found []catalog.FolderNow, all bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return v.FoldersNow(ctx, match)
}

// isUnknown reports whether a folder may contain a skill that the snapshot lacks.
func isUnknown(v catalog.View, f catalog.FolderNow) bool {
	return (f.Main || f.Err != nil) && !v.UpToDate(f)
}

// wait waits for a refresh of all roots that began after the time asked, and reports whether it
// finished. It may have left out roots that are late; see [catalog.Catalog.ScannedSince]. A refresh
// continues without waiting callers, and the next caller joins it. If a refresh hangs, wait returns
// after [patience].
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
			again = true // the refresh may have joined an older scan of a root
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
		_ = c.Refresh(context.Background()) // the only error is the context's, and this context never ends
		r.mu.Lock()
		defer r.mu.Unlock()
		r.running = nil
		close(one.done)
	}()
	return one
}

// isWorth reports whether a refresh may add the skill of a folder to the snapshot. It also reports
// whether an earlier refresh has failed to add it.
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

// note records the folders that the refresh did not add and that have not changed meanwhile. A
// folder that has changed may be worth another refresh.
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
