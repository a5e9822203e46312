package tool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/reads"
	"github.com/knack-dev/knack/skill"
)

// What is asked for by name may be newer than the snapshot. Before any contract
// says that there is no such skill, the disk is asked:
//
//   - Each root is listed once, and a folder in it that is called like the skill,
//     holds a SKILL.md and is not in the snapshot, or is skipped there for what the
//     file was before, has all roots looked at again, at once. So a skill in a folder of its name that was there before the call
//     is found. A folder that stays unknown after a look, such as a second link to
//     another, is worth no further look for an interval, and no more than
//     [fruitlessCount] of them are.
//   - Of a skill that lies deeper, or in a folder of another name, nothing but a
//     look can tell. One is had where the last began longer ago than
//     [rescanInterval] and ten times what it took: absent names can cost no more
//     than a tenth of the time, however many are asked for.
//
// All callers share one look, and wait for it, and for a root to list its folders,
// no longer than [rescanPatience]; a root that did not answer is not asked again
// until it has. If a root has not answered, or no look has ended in time, no contract says
// that there is no such skill: the answer is [ErrBusy] or a [catalog.Incomplete].
//
// The name is compared with the roots' entries and becomes no part of a path.
const (
	rescanPatience = 2 * time.Second
	rescanInterval = time.Second
	rescanShare    = 10

	fruitlessCount = 4
)

// ErrBusy is why nothing is known of a name that the snapshot lacks: a look at the folders
// did not end in time.
var ErrBusy = errors.New("the machine is busy, and a look at the folders of skills has not ended in time; try again in a moment")

// IsUnsure reports whether an error says that a skill may exist although none was found:
// [ErrBusy], a [*catalog.Incomplete], or [skill.ErrUnstable].
func IsUnsure(err error) bool {
	return errors.Is(err, ErrBusy) || errors.Is(err, catalog.ErrLate) || errors.Is(err, skill.ErrUnstable)
}

// rescan is a refresh that calls share.
type rescan struct {
	mu        sync.Mutex
	now       *look
	fruitless map[string]fruitless // by label and name of the folder
}

// fruitless is a folder that a refresh left unknown. It is not tried again until a given
// time, unless its file changes.
type fruitless struct {
	file  skill.Stamp
	until time.Time
}

type look struct {
	begun time.Time
	done  chan struct{}
}

// find finds a skill by a valid folder name, and reports whether there is such a folder. If
// it finds no skill, unsure says why there may be one.
func (h *Host) find(ctx context.Context, v catalog.View, name string, by func(catalog.View, string) *catalog.Entry) (now catalog.View, e *catalog.Entry, folder bool, unsure error) {
	if e := by(v, name); e != nil || v.InFolder(name) != nil {
		return v, e, true, nil
	}
	v, folder, unsure = h.fresher(ctx, v, func(n string) bool { return n == name })
	if folder = folder || v.InFolder(name) != nil; v.InFolder(name) != nil {
		unsure = nil
	}
	return v, by(v, name), folder, unsure
}

// named looks up a name in a view and, if it is missing, in a view of the current disk. If it
// finds no skill, unsure says why there may be one.
func (h *Host) named(ctx context.Context, v catalog.View, name string, in func(catalog.View) *catalog.Entry) (now catalog.View, e *catalog.Entry, unsure error) {
	if e := in(v); e != nil {
		return v, e, nil
	}
	key := skill.KeyOf(name)
	v, _, unsure = h.fresher(ctx, v, func(folder string) bool { return skill.KeyOf(folder) == key })
	return v, in(v), unsure
}

// Named finds the skill of a name, see [catalog.Snapshot.Named]. If the view does not know
// it, Named looks in a view of the current disk, which it returns. If it finds nothing,
// unsure says why there may be such a skill; see [IsUnsure].
func (h *Host) Named(ctx context.Context, v catalog.View, name string) (now catalog.View, e *catalog.Entry, unsure error) {
	return h.named(ctx, v, name, func(v catalog.View) *catalog.Entry { return v.Named(name) })
}

// fresher returns a view that knows the folders with matching names at the time of the
// call, and whether there are any. If the view may lack some, unsure says why.
func (h *Host) fresher(ctx context.Context, v catalog.View, match func(string) bool) (now catalog.View, folder bool, unsure error) {
	folders, all := foldersNow(ctx, v, match)
	asked := time.Now() // after listing, since a refresh that began before may have missed the folders
	last, took := h.Catalog.Refreshed()
	interval := max(rescanInterval, rescanShare*took)
	news, left := false, false
	for _, f := range folders {
		if isNews(v, f) {
			worth, known := h.rescan.isWorth(f, asked)
			news, left = news || worth, left || !known
		}
	}
	switch {
	case news || asked.Sub(last.Add(-took)) >= interval:
		ended := h.look(ctx, asked)
		all = all && ended && h.Catalog.ScannedSince(asked)
		if now, err := h.Catalog.View(ctx); err == nil {
			v = now
		}
		left := slices.DeleteFunc(slices.Clone(folders), func(f catalog.FolderNow) bool { return !isNews(v, f) })
		if ended && len(left) > 0 {
			still, _ := foldersNow(ctx, v, match)
			h.rescan.note(left, still, asked.Add(interval))
		}
	case left:
		all = false // it was not looked into, since too many others were in vain
	}
	if lacks := v.Unsure(); lacks != nil {
		unsure = lacks
	} else if !all {
		unsure = ErrBusy
	}
	if unsure != nil {
		reads.TraceOf(ctx).Failed(skill.ErrBusy) // the audit log tells it from "not found"
	}
	return v, len(folders) > 0, unsure
}

func foldersNow(ctx context.Context, v catalog.View, match func(string) bool) (found []catalog.FolderNow, all bool) {
	ctx, cancel := context.WithTimeout(ctx, rescanPatience)
	defer cancel()
	return v.FoldersNow(ctx, match)
}

// isNews reports whether a folder may have a skill that the snapshot does not know.
func isNews(v catalog.View, f catalog.FolderNow) bool {
	return (f.Main || f.Err != nil) && !v.UpToDate(f)
}

// look waits for a refresh of all roots that began after the moment asked, and reports
// whether it finished; it may have left out roots that are late, see
// [catalog.Catalog.ScannedSince]. A refresh without waiting callers continues for the next one.
// No caller waits behind one that hangs.
func (h *Host) look(ctx context.Context, asked time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, rescanPatience)
	defer cancel()
	for again := false; ; {
		l := h.rescan.join(h.Catalog)
		if time.Since(l.begun) > rescanPatience {
			return false
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return false
		}
		switch {
		case again, h.Catalog.ScannedSince(asked):
			return true
		case !l.begun.Before(asked):
			again = true // of a root it has taken in what was under way before
		}
	}
}

// join returns the refresh that is under way, or begins one.
func (r *rescan) join(c *catalog.Catalog) *look {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil {
		return r.now
	}
	l := &look{begun: time.Now(), done: make(chan struct{})}
	r.now = l
	go func() {
		_ = c.Refresh(context.Background()) // the error is the context's
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now = nil
		close(l.done)
	}()
	return l
}

// isWorth reports whether a refresh may help to know a folder, and whether one has been in
// vain.
func (r *rescan) isWorth(f catalog.FolderNow, asked time.Time) (worth, inVain bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.fruitless, func(_ string, f fruitless) bool { return asked.After(f.until) })
	known, ok := r.fruitless[f.Root.Label+"/"+f.Name]
	if ok {
		return known.file != f.Stamp, known.file == f.Stamp
	}
	return len(r.fruitless) < fruitlessCount, false
}

// note records the folders that are still unknown and unchanged since before the refresh. A
// folder that changed meanwhile may be worth another one.
func (r *rescan) note(left, now []catalog.FolderNow, until time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range left {
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
