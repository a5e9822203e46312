package catalog

import (
	"context"
	"slices"
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
// it, since each snapshot keeps what it shows through those that asked last.
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

// maxSeen bounds what one snapshot keeps for sights: subjects may be many, and a
// snapshot for one of them is made in a few milliseconds.
const maxSeen = 32

// seen keeps the snapshots that sights show of one.
type seen struct {
	mu   sync.Mutex
	kept []*narrowed // at most maxSeen, the latest last
}

type narrowed struct {
	sight    *Sight
	once     sync.Once
	snapshot *Snapshot
}

// through is the snapshot as a sight shows it. It is made once, and again for a
// sight after which maxSeen others asked.
func (s *Snapshot) through(sight *Sight) *Snapshot {
	if sight == nil {
		return s
	}
	n := s.seen.of(sight)
	n.once.Do(func() { n.snapshot = s.narrow(sight) })
	return n.snapshot
}

func (s *seen) of(sight *Sight) *narrowed {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := &narrowed{sight: sight}
	if i := slices.IndexFunc(s.kept, func(k *narrowed) bool { return k.sight == sight }); i >= 0 {
		n = s.kept[i]
		s.kept = slices.Delete(s.kept, i, i+1)
	} else if len(s.kept) == maxSeen {
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	s.kept = append(s.kept, n)
	return n
}

// narrow leaves out what is out of sight. URIs stay, so that a skill has the same
// one for everybody; what shadows what is decided anew, of the names that clash in
// the whole. What no sight can change is the whole's: the entries that nothing
// shadows, and by what they are found; see [Snapshot.keyed] and [Snapshot.based].
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
	out := newSnapshot(len(s.Entries)-len(hidden), s)
	out.Version, out.longest = s.Version, s.longest
	shown, left := map[string]int{}, map[string]int{}
	for _, e := range s.Entries {
		if hidden[e] {
			left[e.Root.Label]++
			continue
		}
		shown[e.Root.Label]++
		if e.By != nil {
			again := *e
			again.By, again.Status = nil, statusIn(e.Root, Available)
			e = &again
		}
		out.add(e)
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
