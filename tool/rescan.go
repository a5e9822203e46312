package tool

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
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
// until it has. The
// name is compared with the roots' entries and becomes no part of a path.
const (
	rescanPatience = 2 * time.Second
	rescanInterval = time.Second
	rescanShare    = 10

	fruitlessCount = 4
)

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

// find finds a skill by a valid folder name, and reports whether there is such a folder.
func (h *Host) find(ctx context.Context, v catalog.View, name string, by func(catalog.View, string) *catalog.Entry) (catalog.View, *catalog.Entry, bool) {
	if e := by(v, name); e != nil || v.InFolder(name) != nil {
		return v, e, true
	}
	v, folder := h.fresher(ctx, v, func(n string) bool { return n == name })
	return v, by(v, name), folder || v.InFolder(name) != nil
}

// named looks up a name in a view and, if it is missing, in a view of the current disk.
func (h *Host) named(ctx context.Context, v catalog.View, name string, in func(catalog.View) *catalog.Entry) (catalog.View, *catalog.Entry) {
	if e := in(v); e != nil {
		return v, e
	}
	key := skill.KeyOf(name)
	v, _ = h.fresher(ctx, v, func(folder string) bool { return skill.KeyOf(folder) == key })
	return v, in(v)
}

// fresher returns a view that knows the folders with matching names at the time of the
// call, and whether there are any.
func (h *Host) fresher(ctx context.Context, v catalog.View, match func(string) bool) (catalog.View, bool) {
	folders := foldersNow(ctx, v, match)
	asked := time.Now() // after listing, since a refresh that began before may have missed the folders
	begun, took := h.Catalog.Looked()
	interval := max(rescanInterval, rescanShare*took)
	news := slices.ContainsFunc(folders, func(f catalog.FolderNow) bool { return isNews(v, f) && h.rescan.isWorth(f, asked) })
	if !news && asked.Sub(begun) < interval {
		return v, len(folders) > 0
	}
	if h.look(ctx, asked) {
		if now, err := h.Catalog.View(ctx); err == nil {
			v = now
		}
		left := slices.DeleteFunc(slices.Clone(folders), func(f catalog.FolderNow) bool { return !isNews(v, f) })
		if len(left) > 0 {
			h.rescan.note(left, foldersNow(ctx, v, match), asked.Add(interval))
		}
	}
	return v, len(folders) > 0
}

func foldersNow(ctx context.Context, v catalog.View, match func(string) bool) []catalog.FolderNow {
	ctx, cancel := context.WithTimeout(ctx, rescanPatience)
	defer cancel()
	return v.FoldersNow(ctx, match)
}

// isNews reports whether a folder may have a skill that the snapshot does not know.
func isNews(v catalog.View, f catalog.FolderNow) bool { return (f.Main || f.Err != nil) && !v.Knows(f) }

// look waits for a refresh of all roots that began after the moment asked, and reports
// whether it finished. A refresh without waiting callers continues for the next one. No
// caller waits behind one that hangs.
func (h *Host) look(ctx context.Context, asked time.Time) bool {
	ctx, cancel := context.WithTimeout(ctx, rescanPatience)
	defer cancel()
	for {
		l := h.rescan.join(h.Catalog)
		if time.Since(l.begun) > rescanPatience {
			return false
		}
		select {
		case <-l.done:
		case <-ctx.Done():
			return false
		}
		if !l.begun.Before(asked) {
			return true
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

// isWorth reports whether a refresh may help to know a folder.
func (r *rescan) isWorth(f catalog.FolderNow, asked time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.fruitless, func(_ string, f fruitless) bool { return asked.After(f.until) })
	known, ok := r.fruitless[f.Root.Label+"/"+f.Name]
	if ok {
		return known.file != f.Stamp
	}
	return len(r.fruitless) < fruitlessCount
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
