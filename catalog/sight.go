package catalog

import (
	"context"
	"sync"
)

// Sight is what somebody may see of a catalogue. Whoever has none sees all.
//
// It works on the snapshot: what is out of sight is in no list, index or
// difference of the one that a request reads, and so in no answer of any surface.
// A skill out of sight shadows nothing.
//
// A skill's files are also those of the skills around it. So where a skill is out
// of sight, those whose folders it lies in are too.
//
// A Sight is compared by its address: make one for all who see the same, and keep
// it, since each snapshot keeps what it shows through it.
type Sight struct {
	// Sees reports whether a skill is in sight. It must give the same answer for
	// the same place at any time, ask no disk, and may be called from several
	// goroutines.
	Sees func(*Entry) bool
}

type sightKey struct{}

// WithSight makes every [Catalog.View] that is taken in the context one through s.
func WithSight(ctx context.Context, s *Sight) context.Context {
	return context.WithValue(ctx, sightKey{}, s)
}

func sightOf(ctx context.Context) *Sight {
	s, _ := ctx.Value(sightKey{}).(*Sight)
	return s
}

// seen keeps the snapshots that sights show of one.
type seen struct {
	mu sync.Mutex
	by map[*Sight]*narrowed
}

type narrowed struct {
	once     sync.Once
	snapshot *Snapshot
}

// through is the snapshot as a sight shows it. It is made once.
func (s *Snapshot) through(sight *Sight) *Snapshot {
	if sight == nil {
		return s
	}
	s.seen.mu.Lock()
	n := s.seen.by[sight]
	if n == nil {
		n = &narrowed{}
		if s.seen.by == nil {
			s.seen.by = map[*Sight]*narrowed{}
		}
		s.seen.by[sight] = n
	}
	s.seen.mu.Unlock()
	n.once.Do(func() { n.snapshot = s.narrow(sight) })
	return n.snapshot
}

// narrow leaves out what is out of sight. URIs stay, so that a skill has the same
// one for everybody; what shadows what is decided anew.
func (s *Snapshot) narrow(sight *Sight) *Snapshot {
	hidden := map[*Entry]bool{}
	for _, e := range s.Entries {
		if sight.Sees(e) {
			continue
		}
		hidden[e] = true
		for at := e.Path; at != "."; {
			at = parent(at)
			if around := s.placedAt(e.Root.Label, at); around != nil {
				hidden[around] = true
			}
		}
	}
	out := newSnapshot(len(s.Entries) - len(hidden))
	out.Version, out.longest, out.whole = s.Version, s.longest, s
	shown, left := map[string]int{}, map[string]int{}
	for _, e := range s.Entries {
		if hidden[e] {
			left[e.Root.Label]++
			continue
		}
		shown[e.Root.Label]++
		kept := *e
		kept.By = nil
		if kept.Status != Skipped {
			kept.Status = Available
			out.byBase[kept.Base] = &kept
		}
		out.add(&kept)
	}
	for _, r := range s.Roots {
		r.Count = shown[r.Label]
		r.Notices = nil // they name paths of which nobody knows what would be there
		if r.Count == 0 {
			r.Err = nil // nor is anything of it known to be in sight
		}
		if r.Count > 0 || left[r.Label] == 0 {
			out.Roots = append(out.Roots, r)
		}
	}
	out.shadow()
	return out
}

// Seen is the difference as a sight shows it. It is empty where nothing that is
// in sight has changed.
func (d Diff) Seen(sight *Sight) Diff {
	if sight == nil || d.prev == nil {
		return d
	}
	return diff(d.prev.through(sight), d.next.through(sight))
}
