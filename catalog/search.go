package catalog

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/base/search"
	"github.com/knack-dev/knack/skill"
)

// Query is a search with its options.
type Query struct {
	Text string
	// Limit is the maximum number of hits; 0 means all of them.
	Limit int
	// People is set to find also the skills withheld from models.
	People bool
	// Unlisted is set to find the unlisted skills, and no others.
	Unlisted bool
	// Explain is set to fill in Hit.Matches.
	Explain bool
}

// Hit is a skill that a search found.
type Hit struct {
	*Entry
	Score   float32
	Matches []search.Match // why it was found
}

// Found is the answer to a query.
type Found struct {
	Hits  []Hit
	Total int // number of hits without the limit
}

// Search ranks skills by how well their name, tags, description, headings and the beginning of
// their text match the query; see package search. It finds the skills that a model may load and, if
// q.People is set, also the skills withheld from models. If q.Unlisted is set, it finds only
// unlisted skills. It never finds copies.
//
// For a query without words, Search returns every skill that the options allow: the listed skills,
// then the skills withheld from models, then the shadowed skills. The order is deterministic; among
// skills with equal scores, the listed skills come first.
//
// The first search of a catalogue builds the index, unless [Catalog.IndexAhead] has built it
// already. Every later refresh updates it. Search fails only if the context ends.
func (v View) Search(ctx context.Context, q Query) (Found, error) {
	if !search.HasWords(q.Text) {
		return v.all(q), ctx.Err()
	}
	x, err := v.indexed(ctx)
	if err != nil {
		return Found{}, err
	}
	weights := weightsOf(q)
	weight := func(i int) float32 { return weights[v.indexing.standings[i]] }
	r := x.Search(q.Text, weight, search.Options{Limit: q.Limit, Explain: q.Explain})
	found := Found{Hits: make([]Hit, len(r.Hits)), Total: r.Total}
	for i, h := range r.Hits {
		found.Hits[i] = Hit{v.searched[h.Doc], h.Score, h.Matches}
	}
	return found, nil
}

// standing is the set of properties that determine the weight of an entry in a search. A search
// needs it for every skill that contains a word of the query. Standings are stored beside the
// index, because the entries themselves are scattered in memory.
type standing uint8

const (
	shadowed  standing = 1 << iota // another skill answers to its name
	forPeople                      // withheld from models
	unlisted                       // its root is in no list
	standings
)

func standingOf(e *Entry) (s standing) {
	if e.Status == Shadowed {
		s |= shadowed
	}
	if !e.ModelInvocable {
		s |= forPeople
	}
	if e.Status == Unlisted {
		s |= unlisted
	}
	return s
}

// weightsOf returns the weights of all standings for a query. Weight 0 excludes a skill.
func weightsOf(q Query) (weights [standings]float32) {
	for s := range standings {
		switch {
		case s&forPeople != 0 && !q.People, s&unlisted != 0 != q.Unlisted:
		case s&shadowed != 0:
			weights[s] = shadowedWeight
		default:
			weights[s] = 1
		}
	}
	return weights
}

// shadowedWeight ranks a shadowed skill below the skill that shadows it, unless it
// matches clearly better.
const shadowedWeight = 0.8

// all returns the entries that have a weight for the query. The view's snapshot lacks
// the entries that its [Filter] hides.
func (v View) all(q Query) (found Found) {
	found.Hits = []Hit{}
	weights := weightsOf(q)
	for _, e := range v.searched {
		if weights[standingOf(e)] == 0 {
			continue
		}
		if found.Total++; q.Limit == 0 || found.Total <= q.Limit {
			found.Hits = append(found.Hits, Hit{Entry: e})
		}
	}
	return found
}

// index finds a snapshot's searched entries. A document's number is the entry's index
// among them.
type index = search.Index[indexed]

// indexed is the key of one document of the index. A skill whose headings and beginning could not
// be read is a different document from the same skill with them.
type indexed struct {
	skill    *skill.Skill
	headings bool
}

// indexing is the state of building one snapshot's index.
type indexing struct {
	begun atomic.Bool
	done  chan struct{} // closed when index is set
	index atomic.Pointer[index]
	// standings are the standings of the snapshot's searched entries, set before done is closed.
	standings []standing
	whole     atomic.Bool // no heading is missing from index
}

// renew returns the indexing to use after only the status of the roots has changed. If headings are
// missing, that is a new one, because a disk may answer now.
func (i *indexing) renew() *indexing {
	select {
	case <-i.done:
		if !i.whole.Load() {
			return &indexing{done: make(chan struct{})}
		}
	default:
	}
	return i
}

const (
	// headingsMost bounds how long indexing waits for silent disks while no caller waits. Headings
	// that are unread by then stay unread until the next refresh that changes anything.
	headingsMost = DefaultInterval
	// mostHeadings bounds the headings of one skill.
	mostHeadings = 200
	// mostBeginning bounds the beginning of a skill's text, in bytes. That many bytes contain more
	// words than are indexed.
	mostBeginning = 600
)

// indexed returns the index of the view's snapshot, and waits for it.
func (v View) indexed(ctx context.Context) (*index, error) {
	i := v.catalog.indexOf(v.Snapshot)
	select {
	case <-i.done:
		return i.index.Load(), ctx.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Indexed reports whether the index of the view's snapshot is ready, so that a search
// need not wait.
func (v View) Indexed() bool {
	select {
	case <-v.indexing.done:
		return true
	default:
		return false
	}
}

// IndexAhead makes the index as soon as there is a snapshot, so that the first search
// need not wait for it. It is meant for a server on whose pages people will search.
func (c *Catalog) IndexAhead() {
	c.ahead.Store(true)
	select {
	case <-c.ready:
		c.indexOf(c.current.Load())
	default:
	}
}

// indexOf starts indexing a snapshot, once.
func (c *Catalog) indexOf(s *Snapshot) *indexing {
	if s.indexing.begun.CompareAndSwap(false, true) {
		go c.makeIndex(s)
	}
	return s.indexing
}

// makeIndex indexes a snapshot from an earlier index and the files that must be read. It runs in
// its own goroutine, so a search can end with its context. If there is a patience, a silent disk
// delays the index by no more than that. Until the disk answers, a search finds its skills by their
// other fields, but not by their headings.
//
// The indexes of whole snapshots are made one at a time, each from the one before. Two at the same
// time would both read all files.
func (c *Catalog) makeIndex(s *Snapshot) {
	if s.whole == nil {
		c.turn.Lock()
	}
	s.indexing.standings = make([]standing, len(s.searched))
	for i, e := range s.searched {
		s.indexing.standings[i] = standingOf(e)
	}
	whole := c.nextIndex(c.patience, s)
	if s.whole == nil {
		c.turn.Unlock()
	}
	s.indexing.whole.Store(whole)
	close(s.indexing.done)
	if !whole {
		s.indexing.whole.Store(c.nextIndex(headingsMost, s))
	}
}

// nextIndex makes the index of a snapshot, with the headings that can be read while the
// disks answer. It reports whether it has all headings.
func (c *Catalog) nextIndex(patience time.Duration, s *Snapshot) (whole bool) {
	before := c.index.Load()
	if s.whole != nil {
		i := c.indexOf(s.whole)
		<-i.done
		before = i.index.Load()
	}
	if before == nil {
		before = new(index)
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	answered := func() {}
	if patience > 0 {
		silence := time.AfterFunc(patience, end)
		defer silence.Stop()
		answered = func() { silence.Reset(patience) }
	}
	keys := make([]indexed, len(s.searched))
	for i, e := range s.searched {
		keys[i] = indexed{e.Skill, true}
	}
	whole = true
	x := before.Update(keys, func(places []int) []search.Doc {
		docs := make([]search.Doc, len(places))
		for i, at := range places {
			e := s.searched[at]
			docs[i] = search.Doc{Name: e.Name, Description: e.Description, Tags: e.Tags()}
			if skill.KeyOf(e.Folder()) != e.Key {
				// A user may search for the folder's name.
				docs[i].Tags = append(slices.Clip(docs[i].Tags), e.Folder())
			}
			keys[at].headings = false
		}
		c.readHeadings(ctx, s, places, func(i int, t topics) {
			docs[i].Headings, docs[i].Beginning, keys[places[i]].headings = t.headings, t.beginning, true
		}, answered)
		for _, i := range places {
			whole = whole && keys[i].headings
		}
		return docs
	})
	s.indexing.index.Store(x)
	if s.whole == nil {
		c.index.Store(x)
	}
	return whole
}

// readHeadings reads the headings of the searched entries with the given indexes. It passes them to
// each, one call at a time, until the context ends. It drops reads that are still under way then.
// It skips files that could not be read in time. It also skips files that differ from the snapshot,
// which the next refresh will see.
//
// It is like [Await], for many files. Each worker takes the next file by itself, because on a busy
// machine, handing over a file costs more than reading it.
func (c *Catalog) readHeadings(ctx context.Context, s *Snapshot, places []int, each func(i int, t topics), answered func()) {
	var mu sync.Mutex
	over := false
	var next atomic.Int64
	work := func() {
		buf := make([]byte, 0, 32<<10) // large enough for most SKILL.md files
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(places) {
				return
			}
			t, ok := c.topics(ctx, s.searched[places[i]], &buf)
			c.headed.Add(1)
			// Without this, a page requested meanwhile would wait for the end of a time slice.
			runtime.Gosched()
			mu.Lock()
			if !over && ok {
				each(i, t)
			}
			mu.Unlock()
			answered()
		}
	}
	var wg sync.WaitGroup
	workers := 2 * runtime.GOMAXPROCS(0) // some wait for the disk
	if c.ahead.Load() {
		// No client waits for this index yet, but clients may wait for other answers.
		workers = max(1, runtime.GOMAXPROCS(0)-1)
	}
	for range min(workers, len(places)) {
		wg.Go(work)
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	mu.Lock()
	over = true
	mu.Unlock()
}

// topics is the part of a SKILL.md's text that a search uses.
type topics struct {
	headings  []string
	beginning string
}

// topics returns the topics of a SKILL.md. It reports false if the file cannot be read or differs
// from the entry. The caller reuses the buffer buf from one call to the next.
func (c *Catalog) topics(ctx context.Context, e *Entry, buf *[]byte) (t topics, ok bool) {
	leave, err := c.enter(ctx, e.rootPath())
	if err != nil {
		return t, false
	}
	defer leave()
	data, stamp, err := e.Skill.ReadInto(*buf)
	*buf = data[:0]
	// A file that was already old when the catalogue read it still has its entry's bytes if its
	// stamp is the same. Hashing all files again would take a twelfth of the time in which an index
	// is made.
	same := stamp == e.Stamp && !stamp.Racy(c.made)
	if err != nil || !same && skill.DigestOf(data) != e.Digest {
		return t, false
	}
	return topics{skill.Headings(data, mostHeadings), skill.Beginning(data, mostBeginning)}, true
}
