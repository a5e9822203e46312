package catalog

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/search"
	"github.com/knack-dev/knack/skill"
)

// Query is what somebody looks for.
type Query struct {
	Text string
	// Limit is how many hits at most; 0 is all of them.
	Limit int
	// People asks also for the skills that are kept from models.
	People bool
	// Unlisted asks for the unlisted skills, and for no others.
	Unlisted bool
	// Explain fills in Hit.Matches.
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
	Total int // how many there are without the limit
}

// Search ranks skills by how well their name, tags, description and headings
// answer the query, as package search says: those that a model may load, or that
// people may ask for. Without a word in the query it returns all of them: the
// listing, those that are kept from models, then the shadowed ones, which no
// listing shows. Copies are left out, and unlisted skills are only found by a query for
// those. The order is deterministic, and of equals
// the listed come first.
//
// The first search of a catalogue makes the index, unless [Catalog.IndexAhead] has
// it made before, and every refresh after that brings it up to date. It fails only when the context ends.
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

// standing is what the weight of an entry in a search depends on. The search keeps
// it beside the index, since it asks of every skill that has a word of the query, and
// the entries themselves lie all over the memory.
type standing uint8

const (
	shadowed  standing = 1 << iota // another skill answers to its name
	forPeople                      // kept from models
	unlisted                       // of a root that is in no list
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

// weightsOf are the weights of all standings; 0 is out of the question.
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

// shadowedWeight lets a shadowed skill stand behind the one that answers to its
// name, unless it fits clearly better.
const shadowedWeight = 0.8

// all are the entries of any weight. What whoever asks may see at all is for the
// view's [Sight], whose snapshot lacks the rest.
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

// index finds a snapshot's searched entries, by their place among them.
type index = search.Index[indexed]

// indexed is what one document of the index was made of. A skill whose headings
// could not be read is another document than the same one with them.
type indexed struct {
	skill    *skill.Skill
	headings bool
}

// indexing is the making of one snapshot's index.
type indexing struct {
	begun atomic.Bool
	done  chan struct{} // closed when index holds one
	index atomic.Pointer[index]
	// standings are those of the snapshot's searched entries, and there before done
	// is closed.
	standings []standing
	whole     atomic.Bool // no heading is missing from index
}

// again is the index to have for the same skills once something else is said of the
// roots: of a disk that answers now, what was left out is tried again.
func (i *indexing) again() *indexing {
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
	// headingsMost is how long the disks may answer nothing once nobody waits. What
	// is then still not read is left so; the next refresh that changes anything tries
	// again.
	headingsMost = DefaultInterval
	// mostHeadings bounds the headings of one skill.
	mostHeadings = 200
)

// indexed waits for the index of the view's snapshot.
func (v View) indexed(ctx context.Context) (*index, error) {
	i := v.catalog.indexOf(v.Snapshot)
	select {
	case <-i.done:
		return i.index.Load(), ctx.Err()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Indexed reports whether the index of the view's snapshot is there, so that a search
// waits for nothing.
func (v View) Indexed() bool {
	select {
	case <-v.indexing.done:
		return true
	default:
		return false
	}
}

// IndexAhead makes the index as soon as there is a snapshot, so that the first
// search need not wait for it: for a server on whose pages people will search.
func (c *Catalog) IndexAhead() {
	c.ahead.Store(true)
	select {
	case <-c.ready:
		c.indexOf(c.current.Load())
	default:
	}
}

// indexOf begins to index a snapshot, once.
func (c *Catalog) indexOf(s *Snapshot) *indexing {
	if s.indexing.begun.CompareAndSwap(false, true) {
		go c.makeIndex(s)
	}
	return s.indexing
}

// makeIndex indexes a snapshot out of what another index holds and what must be
// read. It runs on its own, so that a search waits no longer than its context
// lasts; with patience, a disk that answers nothing holds it up no longer than
// that, and its skills are found by all but their headings until it answers.
//
// Those of whole snapshots are made one after the other, each out of the one before:
// two at once would each read all, where the first has not ended when a refresh finds
// something else.
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

// nextIndex makes the index of a snapshot, with the headings that the disks yield
// while they answer. It reports whether it has all.
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
				// Whoever knows the skill by its folder looks for that.
				docs[i].Tags = append(slices.Clip(docs[i].Tags), e.Folder())
			}
			keys[at].headings = false
		}
		c.readHeadings(ctx, s, places, func(i int, headings []string) {
			docs[i].Headings, keys[places[i]].headings = headings, true
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

// readHeadings reads the headings of the searched entries at some places, and hands
// them on one at a time, until the context ends: what is still under way then goes
// to nobody. Left out are files that could not be read in time, or are not what the
// snapshot knows, which the next refresh will see.
//
// It is [Within] for many: the workers go from one file to the next by themselves,
// since to hand each one over costs more than to read it where the machine is busy.
func (c *Catalog) readHeadings(ctx context.Context, s *Snapshot, places []int, each func(i int, headings []string), answered func()) {
	var mu sync.Mutex
	over := false
	var next atomic.Int64
	work := func() {
		var buf []byte
		for ctx.Err() == nil {
			i := int(next.Add(1)) - 1
			if i >= len(places) {
				return
			}
			headings := c.headings(ctx, s.searched[places[i]], &buf)
			// Whoever asks for a page meanwhile would wait for the end of a time slice.
			runtime.Gosched()
			mu.Lock()
			if !over && headings != nil {
				each(i, headings)
			}
			mu.Unlock()
			answered()
		}
	}
	var wg sync.WaitGroup
	workers := 2 * runtime.GOMAXPROCS(0) // some wait for the disk
	if c.ahead.Load() {
		// Nobody waits for this index yet, but for everything else that is asked.
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

// headings are those of a SKILL.md that is what the entry says; else nil. The buffer is
// used again from one to the next.
func (c *Catalog) headings(ctx context.Context, e *Entry, buf *[]byte) []string {
	leave, err := c.gates.enter(ctx, place{e.Root.Label, e.Path})
	if err != nil {
		return nil
	}
	defer leave()
	data, _, err := e.Skill.ReadInto(*buf)
	*buf = data[:0]
	if err != nil || skill.DigestOf(data) != e.Digest {
		return nil
	}
	if headings := skill.Headings(data, mostHeadings); headings != nil {
		return headings
	}
	return []string{}
}
