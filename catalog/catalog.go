// Package catalog merges the skills of all sources into one immutable view.
//
// A [Catalog] scans its sources, builds a [Snapshot] and publishes it through
// one atomic pointer. Readers take a [View] per request: a snapshot as the client
// may see it. They never lock and never see a half-built catalogue. A refresh
// re-reads only the skills whose files changed.
package catalog

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// Source finds skills in one root. Scan is called repeatedly, by one goroutine at a time. If the
// context of a call has ended, the call may still be running when the next one begins.
type Source interface {
	// Root returns the root, the same at each call.
	Root() skill.Root
	// Scan finds every skill below the root, and may load some of them. For a missing root,
	// Scan.Missing is set. An error without Missing means that the root cannot be read now; the
	// skills of the last scan stay. An error with Missing means that a requested root is gone; its
	// skills are removed, and the error is reported.
	Scan(ctx context.Context) (skill.Scan, error)
}

// Watcher is a [Source] that reports changes. Until the context ends, Watch calls poke, from any
// goroutine, whenever something below the root may have changed since the last scan. The catalogue
// calls Watch once for a source, after its first scan. It calls Watch again only if the source was
// removed and set again.
type Watcher interface {
	Watch(ctx context.Context, poke func())
}

// Folders is a [Source] that can list its root's direct child folders as they are now, with or
// without a skill in them. The method Folders returns the folders whose names match, a few at most.
// It may be called from any goroutine.
type Folders interface {
	Folders(match func(name string) bool) []skill.Folder
}

// Default timing of the refresh.
const (
	// DefaultInterval is contract 002's refresh cycle.
	DefaultInterval = 30 * time.Second
	// settle is the time for which the catalogue waits for further changes after each one.
	// settleMost bounds the total wait. An editor writes a file in several steps, but a client must
	// be notified within two seconds.
	settle     = 25 * time.Millisecond
	settleMost = 500 * time.Millisecond
	// watchDelay postpones the watching of new sources. To start watching takes milliseconds, and
	// at that time clients wait for their first answers.
	watchDelay = 200 * time.Millisecond
)

// Options configures a catalogue. The zero value of each field is its default.
type Options struct {
	Interval time.Duration // between periodic scans, at most [DefaultInterval]; if refreshes are costly, it becomes longer, up to that
	// Patience bounds how long a refresh waits for a root whose disk does not answer. Then the
	// refresh continues without that root; see [ErrLate]. A search waits as long for headings. Zero
	// means no bound.
	Patience time.Duration
	// Whole is set for a command that must answer in full. Patience then begins again with each
	// folder and file that is read. So it ends only if a disk does not answer.
	Whole bool
	Log   *slog.Logger // logs skipped skills and the reasons, at Warn; nil discards them
	// Provenance compares skills with their locks; nil compares none.
	Provenance Provenance
	// Uses returns how often a skill was used; nil if uses are not counted. It may be called from
	// any goroutine.
	Uses func(*Entry) uint64
	// ClientSkills returns the skills that a client already shows its model on its own, or nil if
	// none are known; see [Catalog.AddClient]. It is called again at each refresh, and must return
	// the same pointer while nothing has changed. If it is nil, all clients get the same lists.
	ClientSkills func(client string) *ClientSkills
}

// Catalog keeps a current snapshot of the skills of its sources.
type Catalog struct {
	interval time.Duration
	patience time.Duration
	whole    bool
	log      *slog.Logger
	made     time.Time // before anything was read

	provenance Provenance          // or nil
	uses       func(*Entry) uint64 // or nil

	clientSkills func(client string) *ClientSkills // or nil
	clients      atomic.Pointer[map[string]*ClientSkills]

	current  atomic.Pointer[Snapshot]
	rest     atomic.Int64  // nanoseconds to wait after the last refresh
	ready    chan struct{} // closed with the first snapshot
	progress atomic.Int64  // folders and files read so far, see [skill.WithProgress]
	headed   atomic.Int64  // skills whose headings were read, or found unreadable
	poke     chan struct{} // capacity 1: a refresh is requested
	ended    chan struct{} // capacity 1: a scan run that a refresh did not wait for has ended

	reads   limit.InFlight[reader] // reads that calls wait for
	digests digestCache            // digests of the skills' files
	index   atomic.Pointer[index]  // the last index of a whole snapshot; the next is derived from it
	turn    sync.Mutex             // held while the index of a whole snapshot is made
	ahead   atomic.Bool            // index the first snapshot before the first search

	wanted atomic.Pointer[[]skill.Root] // roots of the sources; a snapshot may lack some

	refreshing chan struct{} // has a token during a scan, so that one refresh runs at a time

	mu        sync.Mutex // held while a snapshot is built, never while waiting for a disk
	sources   []*sourceState
	dropped   []*sourceState          // removed, and perhaps still scanned and watched
	gone      map[placeIn]time.Time   // when a call found a skill's file gone
	doubted   map[placeIn]skill.Stamp // stamps of SKILL.md files that changed without a new stamp
	logged    map[string]bool         // log lines of the current snapshot
	refreshed time.Time               // when the last completed refresh ended
	took      time.Duration           // and how long it lasted
	scanned   time.Time               // when the first scan run of the last refresh began; zero if one was late

	subMu       sync.Mutex
	subscribers map[int]func(Diff)
	nextSub     int
	pending     []Diff // published and not yet delivered
	notifying   bool
}

// rootPath identifies a skill's folder across scans.
type rootPath struct{ label, path string }

func (e *Entry) rootPath() rootPath { return rootPath{e.Root.Label, e.Path} }

// placeIn is a path in one root. It contains the root instead of the label, because a different
// root may get the label later.
type placeIn struct {
	root skill.Root
	path string
}

// New returns a catalogue. It is empty until [Catalog.Run] or [Catalog.Refresh].
func New(sources []Source, o Options) *Catalog {
	if o.Interval <= 0 || o.Interval > DefaultInterval {
		o.Interval = DefaultInterval
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Catalog{
		interval: o.Interval, patience: o.Patience, whole: o.Whole, log: o.Log, made: time.Now(), provenance: o.Provenance, uses: o.Uses, clientSkills: o.ClientSkills, sources: sourceStates(sources),
		ready: make(chan struct{}), poke: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		refreshing: make(chan struct{}, 1),
		gone:       map[placeIn]time.Time{}, doubted: map[placeIn]skill.Stamp{},
		logged: map[string]bool{}, subscribers: map[int]func(Diff){},
	}
	c.wanted.Store(rootsOf(sources))
	c.clients.Store(&map[string]*ClientSkills{})
	return c
}

func rootsOf(sources []Source) *[]skill.Root {
	roots := make([]skill.Root, len(sources))
	for i, s := range sources {
		roots[i] = s.Root()
	}
	return &roots
}

// Ready returns a channel that is closed when the first snapshot is published.
func (c *Catalog) Ready() <-chan struct{} { return c.ready }

// Progress returns the number of folders and files read so far.
func (c *Catalog) Progress() int64 { return c.progress.Load() }

// Indexed returns the number of skills whose headings were read for the search so far.
func (c *Catalog) Indexed() int64 { return c.headed.Load() }

// View returns a view of the current snapshot, and waits for the first one. It shows the whole
// snapshot, or the part that the context's [Filter] allows.
func (c *Catalog) View(ctx context.Context) (View, error) {
	filter := filterOf(ctx)
	if v, ok := c.Now(filter); ok {
		return v, nil
	}
	select {
	case <-c.ready:
		return c.view(filter), nil
	case <-ctx.Done():
		return View{}, ctx.Err()
	}
}

// Now returns a view of the current snapshot through a filter, without waiting. It returns false
// before the first snapshot.
func (c *Catalog) Now(filter *Filter) (View, bool) {
	select {
	case <-c.ready:
		return c.view(filter), true
	default:
		return View{}, false
	}
}

func (c *Catalog) view(filter *Filter) View {
	return View{Snapshot: c.current.Load().through(filter), catalog: c, filter: filter}
}

// SetSources replaces the sources and asks for a refresh. A source that equals one of the previous
// sources stays, with its scan run and its watcher. A source whose type is not comparable never
// stays.
func (c *Catalog) SetSources(sources []Source) {
	c.mu.Lock()
	next, before := sourceStates(sources), slices.Concat(c.dropped, c.sources)
	for i, h := range next {
		if at := slices.IndexFunc(before, h.stays); at >= 0 {
			next[i] = before[at]
			before = slices.Delete(before, at, at+1)
			continue
		}
		for _, old := range c.sources {
			was, now := old.Root(), h.Root()
			if was.Absent = now.Absent; was == now {
				h.last = old.last
			}
		}
	}
	c.sources, c.dropped = next, before
	c.wanted.Store(rootsOf(sources))
	c.mu.Unlock()
	c.Poke()
}

// sourceState is a source with its state in the catalogue, guarded by the catalogue's mu.
type sourceState struct {
	Source
	last     skill.Scan // the last good scan
	run      *scanRun   // the scan run under way, or nil
	endWatch context.CancelFunc
	silent   atomic.Bool // a request for its folders is not answered yet
}

// stays reports whether before belongs to the same source as h. before is a state from before
// SetSources.
func (h *sourceState) stays(before *sourceState) bool {
	return reflect.ValueOf(h.Source).Comparable() && h.Source == before.Source
}

func sourceStates(sources []Source) []*sourceState {
	all := make([]*sourceState, len(sources))
	for i, s := range sources {
		all[i] = &sourceState{Source: s}
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

// Subscribe calls f after every refresh that changed something: in order, one call at a time,
// without holding a lock. The goroutine that calls f is the one that refreshed, or belongs to a
// request that found a changed file. The returned function ends the subscription. A call of f that
// has begun may still finish.
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

// publish swaps the snapshot and queues the difference for the subscribers. The caller
// holds mu, and calls notify after it has released it.
func (c *Catalog) publish(next *Snapshot) {
	next.clients = *c.clients.Load()
	prev := c.current.Load()
	if prev == nil {
		c.current.Store(next)
		close(c.ready)
		if c.ahead.Load() {
			c.indexOf(next)
		}
		return
	}
	// The status of the roots rarely changes. A snapshot in which it has changed is stored
	// immediately, before the rest is compared.
	same := sameRoots(prev, next)
	if !same {
		c.current.Store(next)
	}
	d := diff(prev, next)
	if d.Empty() && same {
		// Keep the newer scan, so that the next scan that finds the same tree has nothing to build.
		prev.found.Store(next.found.Load())
		return
	}
	c.current.Store(next)
	if prev.indexing.begun.Load() {
		c.indexOf(next) // a client that searched will search again
	}
	if d.Empty() {
		return
	}
	for _, e := range d.Removed {
		c.digests.forget(e.rootPath())
	}
	c.subMu.Lock()
	c.pending = append(c.pending, d)
	c.subMu.Unlock()
}

// notify delivers the pending differences. If another goroutine, or a caller further up the stack,
// is already delivering, that one also delivers the differences added here.
func (c *Catalog) notify() {
	c.subMu.Lock()
	defer c.subMu.Unlock()
	if c.notifying {
		return
	}
	c.notifying = true
	defer func() { c.notifying = false }()
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
