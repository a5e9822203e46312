// Package catalog merges the skills of all sources into one immutable view.
//
// A [Catalog] scans its sources, builds a [Snapshot] and publishes it through
// one atomic pointer. Readers take a [View] per request: a snapshot and the one
// who asks. They never lock and never see a half-built catalogue. A refresh
// re-reads only the skills whose files changed.
package catalog

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Source finds skills in one root. Scan is called again and again, by one
// goroutine at a time, but for a call whose context has ended: that one may not
// have returned yet.
type Source interface {
	// Root names the place. It is the same at each call.
	Root() skill.Root
	// Scan finds every skill below the root, and may load some of them. A root
	// that is absent yields Scan.Missing; an error alone means that the root cannot
	// be read now, and the last scan's skills stay in force. With Missing beside the
	// error the root was wanted and is gone: its skills go, and the error is shown.
	Scan(ctx context.Context) (skill.Scan, error)
}

// Watcher is a [Source] that can tell of changes. Watch calls poke, from any
// goroutine, whenever something below the root may have changed, until the
// context ends. It is called once for a source, after its first scan.
type Watcher interface {
	Watch(ctx context.Context, poke func())
}

// Folders is a [Source] that can tell which folders its root has now as direct
// children, be there a skill in them or not: those whose names match, a few at
// most. It may be called from any goroutine.
type Folders interface {
	Folders(match func(name string) bool) []skill.Folder
}

// Default timing of the refresh.
const (
	// DefaultInterval is contract 002's refresh cycle.
	DefaultInterval = 30 * time.Second
	// settle is how long the catalogue waits after a change for the next one, and
	// settleMost how long it lets itself be held up: an editor writes a file in
	// several steps, and a client is told within 2 s.
	settle     = 25 * time.Millisecond
	settleMost = 500 * time.Millisecond
)

// Options of a catalogue. The zero value of each field is its default.
type Options struct {
	Interval time.Duration // between scans that nobody asked for; at most [DefaultInterval]; see [Catalog.Interval]
	// Patience bounds how long a refresh waits for a root whose disk does not
	// answer, before it goes on without; see [ErrLate]. A search waits as long for
	// headings. Zero waits.
	Patience time.Duration
	Log      *slog.Logger // what is skipped and why, at Warn; nothing when nil
}

// Catalog keeps a current snapshot of the skills of its sources.
type Catalog struct {
	interval time.Duration
	patience time.Duration
	log      *slog.Logger

	current  atomic.Pointer[Snapshot]
	rest     atomic.Int64 // nanoseconds that the last refresh asks for
	last     atomic.Pointer[refreshed]
	ready    chan struct{} // closed with the first snapshot
	progress atomic.Int64  // folders and files that were read, see [skill.WithProgress]
	poke     chan struct{} // capacity 1: a refresh is wanted
	ended    chan struct{} // capacity 1: a look has ended that a refresh went on without

	gates     gates                        // of the reads that calls wait for
	manifests atomic.Pointer[[]*Manifests] // that were made of this catalogue
	index     atomic.Pointer[index]        // the last one of a whole snapshot, to make the next one of
	turn      sync.Mutex                   // held while one of those is made
	ahead     atomic.Bool                  // the first snapshot is to be indexed before anybody searches

	wanted atomic.Pointer[[]skill.Root] // of the sources, which a snapshot may not have yet

	refreshing chan struct{} // holds a token during a scan: one refresh at a time

	mu      sync.Mutex // held while a snapshot is built, never while a disk is waited for
	sources []*held
	dropped []*held               // replaced, and perhaps still watched
	known   map[string][]known    // what was read of each skill, by the root's label, in path order
	gone    map[place]time.Time   // when a call found a skill's file gone
	doubted map[place]skill.Stamp // of SKILL.md files that were seen to change under their stamp
	logged  map[string]bool       // what the current snapshot's log lines said
	looked  time.Time             // when the last completed refresh began
	took    time.Duration         // and how long it lasted
	seen    time.Time             // when the first look began of those that the refresh took in; zero if one was late

	subMu       sync.Mutex
	subscribers map[int]func(Diff)
	nextSub     int
	pending     []Diff // published and not yet told
	telling     bool
}

// place identifies a skill's folder across scans.
type place struct{ label, path string }

// known is a skill as it was read, and when: of all that one look has read the
// same, so that they share it.
type known struct {
	skill *skill.Skill
	read  *time.Time
}

// after reports whether it was read after t; what is not known was not.
func (k known) after(t time.Time) bool { return k.read != nil && k.read.After(t) }

func (k known) path() string { return k.skill.Path }

// knownAt is what was read of the skill in a place. The caller holds mu. A map would
// take eight times the room.
func (c *Catalog) knownAt(at place) known {
	all := c.known[at.label]
	i, ok := slices.BinarySearchFunc(all, at.path, func(k known, path string) int { return strings.Compare(k.path(), path) })
	if !ok {
		return known{}
	}
	return all[i]
}

// inOrder is what is known of a root, to be asked in path order.
type inOrder []known

func (o *inOrder) at(path string) known {
	for len(*o) > 0 && (*o)[0].path() < path {
		*o = (*o)[1:]
	}
	if len(*o) == 0 || (*o)[0].path() != path {
		return known{}
	}
	return (*o)[0]
}

// know takes in what was read of a root, in path order, in the place of what was
// known. The caller holds mu.
func (c *Catalog) know(label string, news []known) {
	old := c.known[label]
	if len(news) == 0 {
		return
	}
	if len(old) == 0 {
		c.known[label] = news
		return
	}
	all := make([]known, 0, max(len(old), len(news)))
	for len(old) > 0 && len(news) > 0 {
		switch n := strings.Compare(old[0].path(), news[0].path()); {
		case n < 0:
			all, old = append(all, old[0]), old[1:]
		case n > 0:
			all, news = append(all, news[0]), news[1:]
		default:
			old = old[1:]
		}
	}
	c.known[label] = append(append(all, old...), news...)
}

// forgetAllBut keeps what is known of the skills of a snapshot, which are in path
// order. The caller holds mu.
func (c *Catalog) forgetAllBut(found []foundRoot) {
	alive := make(map[string][]*skill.Skill, len(found))
	for _, f := range found {
		alive[f.status.Root.Label] = f.skills
	}
	for label, all := range c.known {
		skills := alive[label]
		c.known[label] = slices.DeleteFunc(all, func(k known) bool {
			for len(skills) > 0 && skills[0].Path < k.path() {
				skills = skills[1:]
			}
			return len(skills) == 0 || skills[0].Path != k.path()
		})
		if len(c.known[label]) == 0 {
			delete(c.known, label)
		}
	}
	maps.DeleteFunc(c.doubted, func(at place, stamp skill.Stamp) bool {
		k := c.knownAt(at)
		return k.skill == nil || k.skill.Stamp != stamp
	})
}

// New makes a catalogue. It is empty until [Catalog.Run] or [Catalog.Refresh].
func New(sources []Source, o Options) *Catalog {
	if o.Interval <= 0 || o.Interval > DefaultInterval {
		o.Interval = DefaultInterval
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{
		interval: o.Interval, patience: o.Patience, log: o.Log, sources: hold(sources),
		ready: make(chan struct{}), poke: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		refreshing: make(chan struct{}, 1), gates: gates{all: map[share]*queue{}},
		known: map[string][]known{}, gone: map[place]time.Time{}, doubted: map[place]skill.Stamp{},
		logged:      map[string]bool{},
		subscribers: map[int]func(Diff){},
	}
	c.wanted.Store(rootsOf(sources))
	return c
}

func rootsOf(sources []Source) *[]skill.Root {
	roots := make([]skill.Root, len(sources))
	for i, s := range sources {
		roots[i] = s.Root()
	}
	return &roots
}

// Ready is closed when the first snapshot is there.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// View returns a view on the current snapshot, waiting for the first one: on all
// of it, or on what the context's [Sight] shows of it.
func (c *Catalog) View(ctx context.Context) (View, error) {
	select {
	case <-c.ready:
		return c.view(sightOf(ctx)), nil
	default:
	}
	select {
	case <-c.ready:
		return c.view(sightOf(ctx)), nil
	case <-ctx.Done():
		return View{}, ctx.Err()
	}
}

// Now is [Catalog.View] through a sight, without waiting; false before the first
// snapshot.
func (c *Catalog) Now(sight *Sight) (View, bool) {
	select {
	case <-c.ready:
		return c.view(sight), true
	default:
		return View{}, false
	}
}

func (c *Catalog) view(sight *Sight) View {
	return View{Snapshot: c.current.Load().through(sight), catalog: c, sight: sight}
}

// SetSources replaces the sources and asks for a refresh.
func (c *Catalog) SetSources(sources []Source) {
	c.mu.Lock()
	c.dropped = append(c.dropped, c.sources...)
	next := hold(sources)
	for _, h := range next {
		for _, old := range c.sources {
			if old.Root() == h.Root() {
				h.last = old.last
			}
		}
	}
	c.sources = next
	c.wanted.Store(rootsOf(sources))
	c.mu.Unlock()
	c.Poke()
}

// held is a source with what the catalogue keeps for it, guarded by the
// catalogue's mu.
type held struct {
	Source
	last     skill.Scan // the last good one
	look     *look      // under way, else nil
	endWatch context.CancelFunc
	silent   atomic.Bool // it was asked for folders and has not answered yet
}

func hold(sources []Source) []*held {
	all := make([]*held, len(sources))
	for i, s := range sources {
		all[i] = &held{Source: s}
	}
	return all
}

// Poke asks for a refresh soon. It never blocks.
func (c *Catalog) Poke() {
	select {
	case c.poke <- struct{}{}:
	default:
	}
}

// Subscribe calls f after every refresh that changed something: in order, one
// call at a time, with no lock held, from the goroutine that refreshed or from
// that of a call that found a changed file. The returned function ends it; a
// call that is under way may still finish.
func (c *Catalog) Subscribe(f func(Diff)) (cancel func()) {
	c.subMu.Lock()
	defer c.subMu.Unlock()
	id := c.nextSub
	c.nextSub++
	c.subscribers[id] = f
	return func() {
		c.subMu.Lock()
		defer c.subMu.Unlock()
		delete(c.subscribers, id)
	}
}

// publish swaps the snapshot and notes what to tell the subscribers. The caller
// holds mu, and calls tell after it has let go.
func (c *Catalog) publish(next *Snapshot) {
	prev := c.current.Load()
	if prev == nil {
		c.current.Store(next)
		close(c.ready)
		if c.ahead.Load() {
			c.indexOf(next)
		}
		return
	}
	// What is told of the roots is nearly always the same; a snapshot that says something
	// else need not wait until it is known what else is another.
	same := sameRoots(prev, next)
	if !same {
		c.current.Store(next)
	}
	d := diff(prev, next)
	if d.Empty() && same {
		// The next scan that finds the tree as this one did has nothing to build.
		prev.found.Store(next.found.Load())
		return
	}
	c.current.Store(next)
	if prev.indexing.begun.Load() {
		c.indexOf(next) // whoever searched will search again
	}
	if d.Empty() {
		return
	}
	c.subMu.Lock()
	c.pending = append(c.pending, d)
	c.subMu.Unlock()
}

// tell delivers what is pending. Where another goroutine, or a caller further up,
// is at it already, that one goes on with what this one added.
func (c *Catalog) tell() {
	c.subMu.Lock()
	defer c.subMu.Unlock()
	if c.telling {
		return
	}
	c.telling = true
	defer func() { c.telling = false }()
	for len(c.pending) > 0 {
		d := c.pending[0]
		c.pending = c.pending[1:]
		for _, id := range slices.Sorted(maps.Keys(c.subscribers)) {
			if f := c.subscribers[id]; f != nil {
				c.subMu.Unlock()
				f(d)
				c.subMu.Lock()
			}
		}
	}
}
