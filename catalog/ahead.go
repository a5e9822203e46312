package catalog

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

const (
	// aheadMost is how many skills are hashed before they are asked for: some pages of
	// a list.
	aheadMost = 400
	// AheadGood is how long what was made ahead is good for a list, which may be older
	// than that anyway: it follows the disk as refreshes do, and a change has two seconds
	// to be seen.
	AheadGood = 2 * time.Second
)

// ahead is the work that a list will ask for next.
type ahead struct {
	mu      sync.Mutex
	next    []*Entry
	workers int

	version  uint64 // of the list
	sight    *Sight
	from, to int // where in it next began, and ends
}

// Ahead makes the manifests of the skills that a list has from a place on, in the
// background, for [Manifests.OfList]: whoever has asked for one page of a list will ask for
// the next. It takes the place of the call before; where that was for the same list and
// an earlier place, what it has made is not made again.
func (m *Manifests) Ahead(v View, from int) {
	served := v.Served()
	a := &m.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	begin, end := from, min(from+aheadMost, len(served))
	if a.version == v.Version && a.sight == v.sight && a.from < from && from <= a.to {
		begin = max(from, a.to-len(a.next))
	}
	a.version, a.sight, a.from, a.to = v.Version, v.sight, from, end
	a.next = served[begin:end]
	for a.workers < min(cap(m.slots), len(a.next)) {
		a.workers++
		go m.workAhead()
	}
}

func (m *Manifests) workAhead() {
	a := &m.ahead
	for {
		a.mu.Lock()
		if len(a.next) == 0 {
			a.workers--
			a.next = nil
			a.mu.Unlock()
			return
		}
		e := a.next[0]
		a.next = a.next[1:]
		a.mu.Unlock()
		m.makeAhead(e)
	}
}

// makeAhead makes one manifest, unless somebody is at it. What goes wrong is for
// whoever asks to find.
func (m *Manifests) makeAhead(e *Entry) {
	d := m.digests(e)
	select {
	case d.busy <- struct{}{}:
	default:
		return
	}
	defer func() { <-d.busy }()
	if time.Since(d.made) < AheadGood || !e.Publishable {
		return
	}
	m.slots <- struct{}{}
	defer func() { <-m.slots }()
	d.made = time.Time{}
	begun := time.Now()
	if d.whole(context.Background(), e) {
		d.made = begun
	}
}

// aheadFiles are those that were made ahead, once, or else made now.
func (m *Manifests) aheadFiles(ctx context.Context, e *Entry) ([]skill.File, time.Time, error) {
	d, leave, err := m.enter(ctx, e)
	if err != nil {
		return nil, time.Time{}, err
	}
	defer leave()
	made := d.made
	d.made = time.Time{}
	if time.Since(made) < AheadGood {
		return d.files, made, nil
	}
	begun := time.Now()
	files, err := d.now(ctx, e)
	return files, begun, err
}
