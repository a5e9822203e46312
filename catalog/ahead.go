package catalog

import (
	"context"
	"slices"
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
	last    *Entry // the one behind which nothing was announced
	workers int
}

// Ahead makes the manifests of the first of some skills in the background, for
// [Manifests.OfList]: whoever has asked for one page of a list will ask for the next.
// It takes the place of the call before.
func (m *Manifests) Ahead(entries []*Entry) {
	a := &m.ahead
	a.mu.Lock()
	defer a.mu.Unlock()
	now := entries[:min(len(entries), aheadMost)]
	from := 0
	if i := slices.Index(now, a.last); i >= 0 {
		from = max(i+1-len(a.next), 0) // who reads on need not have again what was made
	}
	if a.next = now[from:]; len(now) > 0 {
		a.last = now[len(now)-1]
	}
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
