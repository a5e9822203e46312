package catalog

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// Filter hides the skills of a catalogue that a client may not see, as package access decides. A
// client without a Filter sees all skills.
//
// It filters the snapshot that a request reads. A hidden skill is in no list, index or
// difference of that snapshot, and so in no answer of any surface. It shadows nothing.
//
// A skill's files also belong to every skill whose folder contains it. If a skill is hidden, these
// outer skills are therefore hidden too.
//
// A Filter is compared by its address. Use one Filter for all clients with the same visibility, and
// keep it: each snapshot caches its views through the filters used last.
type Filter struct {
	// Visible reports whether a skill is visible. It must not read the disk, and must give
	// the same answer for the same place each time. Several goroutines may call it.
	Visible func(*Entry) bool
	// VisibleIn, if set, returns the function to use as Visible for a snapshot.
	VisibleIn func(*Snapshot) func(*Entry) bool
	// Whole states that the filter never hides a skill, present or future.
	Whole bool
}

type filterKey struct{}

// WithFilter returns a context in which every [Catalog.View] shows only the skills that f allows.
func WithFilter(ctx context.Context, f *Filter) context.Context {
	return context.WithValue(ctx, filterKey{}, f)
}

func filterOf(ctx context.Context) *Filter {
	f, _ := ctx.Value(filterKey{}).(*Filter)
	return f
}

// maxFiltered bounds the narrowed snapshots that one snapshot caches. There may be many
// subjects, and a snapshot for one of them takes a few milliseconds.
const maxFiltered = 32

// filterCache caches the narrowed snapshots of one snapshot, by filter.
type filterCache struct {
	mu        sync.Mutex
	snapshots []*filteredSnapshot // at most maxFiltered, the most recently used one last
}

type filteredSnapshot struct {
	filter   *Filter
	once     sync.Once
	snapshot *Snapshot
}

// through returns the snapshot as a filter shows it. The result is cached until maxFiltered other
// filters were used. A filter that hides no skill shows the whole snapshot, including roots without
// skills: the operator's metrics count the roots that cannot be read.
func (s *Snapshot) through(filter *Filter) *Snapshot {
	if filter == nil || filter.Whole {
		return s
	}
	n := s.filtered.narrow(filter)
	n.once.Do(func() {
		if filter.VisibleIn != nil {
			filter = &Filter{Visible: filter.VisibleIn(s)}
		}
		n.snapshot = s.narrow(filter)
	})
	return n.snapshot
}

func (s *filterCache) narrow(filter *Filter) *filteredSnapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &filteredSnapshot{filter: filter}
	if i := slices.IndexFunc(s.snapshots, func(k *filteredSnapshot) bool { return k.filter == filter }); i >= 0 {
		n = s.snapshots[i]
		s.snapshots = slices.Delete(s.snapshots, i, i+1)
	} else if len(s.snapshots) == maxFiltered {
		s.snapshots = slices.Delete(s.snapshots, 0, 1)
	}
	s.snapshots = append(s.snapshots, n)
	return n
}

// narrow returns the snapshot without the hidden skills. URIs stay, so that a skill has
// the same one for every client. Shadowing is decided again for the names that clash in
// the whole.
//
// The part shares with the whole everything that no filter can change: the entries that nothing
// shadows, and the maps that find them. See [Snapshot.keyed] and [Snapshot.based].
func (s *Snapshot) narrow(filter *Filter) *Snapshot {
	hidden := map[rootPath]bool{} // with the folders around
	for _, e := range slices.AppendSeq(slices.Clip(s.Entries), maps.Values(s.blocked)) {
		for at := e.Path; !hidden[rootPath{e.Root.Label, at}] && !filter.Visible(e); at = parent(at) {
			hidden[rootPath{e.Root.Label, at}] = true
		}
	}
	out := newSnapshot(s)
	out.blocked = maps.Clone(s.blocked)
	maps.DeleteFunc(out.blocked, func(_ string, e *Entry) bool { return hidden[e.rootPath()] })
	out.Version, out.longest, out.clients = s.Version, s.longest, s.clients
	counts := map[string]int{}
	for _, e := range s.Entries {
		if hidden[e.rootPath()] {
			continue
		}
		counts[e.Root.Label]++
		if e.By != nil {
			again := *e
			again.By, again.Status = nil, firstStatus(e.Root)
			e = &again
		}
		out.add(e)
	}
	for _, r := range s.Roots { // leave out a root without a visible skill, since it may have hidden ones
		if r.Count = counts[r.Label]; r.Count > 0 {
			r.Notices = nil // they name paths that may be hidden
			out.Roots = append(out.Roots, r)
		}
	}
	out.shadow()
	return out
}

// Through returns the difference as a filter shows it. It is empty if no visible skill has
// changed.
func (d Diff) Through(filter *Filter) Diff {
	if filter == nil || d.prev == nil {
		return d
	}
	return diff(d.prev.through(filter), d.next.through(filter))
}
