// Package usage counts how agents use skills. For each skill, client and week it counts lists,
// loads and file reads. It also counts requests for names without a skill.
//
// It stores numbers, names and URIs, but no content, and nothing about persons: neither subjects
// nor addresses. It opens no files; callers store the counts with [Tally.Encode] and
// [Tally.Restore].
package usage

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Weeks is the number of weeks that are counted separately. At a restart, a skill or name without
// requests in that time is dropped.
const Weeks = 26

// The limits of the counts. Clients can choose any names of clients and skills.
const (
	maxClients  = 100
	keptClients = maxClients / 2 // clients that survive a restart, to make room for others
	maxPairs    = 100_000
	maxWeekly   = 250_000 // weeks of all pairs
	maxHours    = 24
	maxLists    = 8
	others      = "others"
)

// Keeping is the way in which the counts are stored when the process ends.
type Keeping int32

// The values of Keeping.
const (
	InMemory Keeping = iota // they are lost
	InFile                  // they are in a file
	Failing                 // the file is unusable now, and the log has the reason
)

// Tally counts the uses of skills. Its methods are safe for concurrent use.
type Tally struct {
	keeping atomic.Int32

	mu      sync.Mutex
	since   time.Time
	skills  map[string]*ofSkill // by URI
	uses    sync.Map            // loads and reads by URI, as *atomic.Uint64; it needs no mu, since lists read it while fold holds mu
	pairs   int                 // pairs of a skill and a client
	weeks   int                 // weeks with counts, summed over the pairs
	beyond  uint64              // uses for which there was no room
	clients []string            // clients counted under their own names
	number  map[string]int      // indexes in clients, by name
	lists   map[*catalog.Snapshot]*lists
	hours   [maxHours]hour
	missing map[string]*missed
}

// ofSkill counts the uses of one skill.
type ofSkill struct {
	by []pair
}

// pair counts the uses of one skill by one client.
type pair struct {
	client int
	Counts
	before Counts // counts of earlier processes
	weeks  []weekly
	last   week
}

// weekly counts the loads and reads of one week.
type weekly struct {
	at           week
	loaded, read uint32
}

// hour has the loads and reads of one hour, by URI of the skill.
type hour struct {
	at time.Time
	by map[string]Counts
}

// Counts are the numbers of times that skills were offered, loaded, and read from.
type Counts struct {
	Offered uint64 `json:"offered"`
	Loaded  uint64 `json:"loaded"`
	Read    uint64 `json:"read"`
}

// Used returns the number of loads and reads.
func (c Counts) Used() uint64 { return c.Loaded + c.Read }

func (c *Counts) add(o Counts) {
	c.Offered += o.Offered
	c.Loaded += o.Loaded
	c.Read += o.Read
}

// New returns a tally that counts from now.
func New() *Tally {
	return &Tally{since: time.Now().UTC(), skills: map[string]*ofSkill{}, number: map[string]int{}, lists: map[*catalog.Snapshot]*lists{}, missing: map[string]*missed{}}
}

// Keep sets the way in which the counts are stored when the process ends.
func (t *Tally) Keep(k Keeping) { t.keeping.Store(int32(k)) }

// Keeping returns the last value set by [Tally.Keep].
func (t *Tally) Keeping() Keeping { return Keeping(t.keeping.Load()) }

// Since returns the time when the counts began.
func (t *Tally) Since() time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.since
}

// recordList records that a client received a list of the view's skills. The skills in the list
// count as offered.
func (t *Tally) recordList(v catalog.View, client string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lists[v.Snapshot]
	if l == nil {
		if len(t.lists) >= maxLists {
			t.fold()
		}
		l = &lists{v, map[int]uint64{}}
		t.lists[v.Snapshot] = l
	}
	l.by[t.indexOf(client)]++
}

// lists counts the lists of one view by the index of the client.
type lists struct {
	view catalog.View
	by   map[int]uint64
}

// fold adds the recorded lists to the counts of the skills in the lists. Lists are requested often
// and change seldom, so each list is first counted as a whole. The caller holds mu.
func (t *Tally) fold() {
	if len(t.lists) == 0 {
		return
	}
	now := weekOf(time.Now())
	for _, l := range t.lists {
		fits := tool.Fits(l.view)
		left := make([]map[*catalog.Entry]bool, len(fits))
		for i, f := range fits {
			left[i] = make(map[*catalog.Entry]bool, len(f.Left))
			for _, e := range f.Left {
				left[i][e] = true
			}
		}
		omitted := map[int]map[*catalog.Entry]bool{} // the skills that each client's list leaves out
		for client := range l.by {
			for i, f := range fits {
				if f.Client == "" || strings.EqualFold(f.Client, t.clients[client]) {
					omitted[client] = left[i]
				}
			}
		}
		for _, e := range l.view.Listed {
			uri := e.URI().String()
			for client, n := range l.by {
				if omitted[client][e] {
					continue
				}
				if p := t.pair(uri, client); p != nil {
					p.Offered += n
					p.last = max(p.last, now)
				}
			}
		}
	}
	clear(t.lists)
}

// Record implements [event.Sink]. It counts lists, loads and reads by MCP clients, and the names of
// skills that they did not find.
func (t *Tally) Record(e *event.Event) {
	switch {
	case e.Surface != event.MCP, e.View.Snapshot == nil:
	case e.Method == "tools/list", e.Tool == "list_skills":
		if e.Result == event.OK {
			t.recordList(e.View, e.Client)
		}
	case !event.UsesSkills(e.Method):
	case e.Result == event.OK:
		t.use(e)
	default:
		t.missed(e)
	}
}

// use counts an answered request for a skill or its file.
func (t *Tally) use(request *event.Event) {
	e := event.Find(request.View, request.Asked)
	if e == nil || e.Status == catalog.Skipped {
		return
	}
	main := request.File == "" || request.File == skill.MainFile
	if uri, err := skill.ParseURI(strings.TrimSpace(request.Asked)); err == nil && request.File == "" {
		_, file := request.View.At(uri)
		main = file == skill.MainFile || file == "."
	}
	n := Counts{Read: 1}
	if main {
		n = Counts{Loaded: 1}
	}
	t.count(request.Client, e, n)
}

// count adds a load or a read to the counts of a skill and a client.
func (t *Tally) count(client string, e *catalog.Entry, n Counts) {
	uri, now := e.URI().String(), time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	p := t.pair(uri, t.indexOf(client))
	if p == nil {
		t.beyond++
		return
	}
	p.add(n)
	p.last = weekOf(now)
	t.inWeek(p, p.last, uint32(n.Loaded), uint32(n.Read))
	t.addUses(uri, n.Used())
	now = now.Truncate(time.Hour)
	h := &t.hours[now.Unix()/3600%maxHours]
	if !h.at.Equal(now) {
		*h = hour{now, map[string]Counts{}}
	}
	sum := h.by[uri]
	sum.add(n)
	h.by[uri] = sum
}

// pair returns the counts of a skill and a client, or nil if there is no room for more. The caller
// holds mu and does not use the result after another call of pair.
func (t *Tally) pair(uri string, client int) *pair {
	uses := t.skills[uri]
	if uses != nil {
		for i := range uses.by {
			if uses.by[i].client == client {
				return &uses.by[i]
			}
		}
	}
	if t.pairs >= maxPairs {
		return nil
	}
	if uses == nil {
		uses = &ofSkill{}
		t.skills[uri] = uses
	}
	t.pairs++
	uses.by = append(uses.by, pair{client: client})
	return &uses.by[len(uses.by)-1]
}

// inWeek adds uses to the counts of a week. The weeks are sorted. If there is no room for another
// week, inWeek drops the oldest week of the pair; if none is older, it does not count the uses. The
// caller holds mu.
func (t *Tally) inWeek(p *pair, at week, loaded, read uint32) {
	i := len(p.weeks)
	for i > 0 && p.weeks[i-1].at > at { // the clock was set back, or a file is restored
		i--
	}
	if i == 0 || p.weeks[i-1].at != at {
		if len(p.weeks) >= Weeks || t.weeks >= maxWeekly && i > 0 {
			if i == 0 {
				return // older than all counted weeks
			}
			p.weeks = slices.Delete(p.weeks, 0, 1)
			t.weeks--
			i--
		}
		if t.weeks >= maxWeekly {
			return
		}
		p.weeks = slices.Insert(p.weeks, i, weekly{at: at})
		t.weeks++
		i++
	}
	w := &p.weeks[i-1]
	w.loaded, w.read = sum32(w.loaded, loaded), sum32(w.read, read)
}

func sum32(a, b uint32) uint32 { return uint32(min(uint64(a)+uint64(b), math.MaxUint32)) }

// indexOf returns the index of the name under which a client is counted. The caller holds mu.
func (t *Tally) indexOf(client string) int {
	n, ok := t.number[client]
	if ok {
		return n
	}
	name := cmp.Or(display.OneLine(display.Echo(client)), "unnamed")
	if n, ok = t.number[name]; ok {
		return n
	}
	if len(t.clients) >= maxClients {
		name = others
		if n, ok = t.number[name]; ok {
			return n
		}
	}
	n = len(t.clients)
	t.clients, t.number[name] = append(t.clients, name), n
	return n
}

// Uses returns the number of times that a skill was loaded or read from.
func (t *Tally) Uses(e *catalog.Entry) uint64 {
	if e.Status == catalog.Skipped {
		return 0
	}
	return t.usesOf(e.URI().String())
}

func (t *Tally) usesOf(uri string) uint64 {
	if n, ok := t.uses.Load(uri); ok {
		return n.(*atomic.Uint64).Load()
	}
	return 0
}

func (t *Tally) addUses(uri string, n uint64) {
	sum, _ := t.uses.LoadOrStore(uri, new(atomic.Uint64))
	sum.(*atomic.Uint64).Add(n)
}

// Of returns the numbers of times that all clients loaded and read from a skill. Offered stays 0,
// since offers are computed from whole lists only when a report needs them.
func (t *Tally) Of(e *catalog.Entry) (sum Counts) {
	if e.Status == catalog.Skipped {
		return sum
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if uses := t.skills[e.URI().String()]; uses != nil {
		for _, p := range uses.by {
			sum.add(Counts{Loaded: p.Loaded, Read: p.Read})
		}
	}
	return sum
}

// MostFirst returns the skills sorted by use: the most used first, and the unused last. The sort is
// stable.
func (t *Tally) MostFirst(all []*catalog.Entry) []*catalog.Entry {
	type use struct {
		e *catalog.Entry
		n uint64
	}
	var used []use
	out, rest := make([]*catalog.Entry, 0, len(all)), make([]*catalog.Entry, 0, len(all))
	for _, e := range all {
		if n := t.Uses(e); n > 0 {
			used = append(used, use{e, n})
		} else {
			rest = append(rest, e)
		}
	}
	slices.SortStableFunc(used, func(a, b use) int { return cmp.Compare(b.n, a.n) })
	for _, w := range used {
		out = append(out, w.e)
	}
	return append(out, rest...)
}

// NeverUsed returns the skills that are available under their own names and were never loaded or
// read.
func (t *Tally) NeverUsed(all []*catalog.Entry) (unused []*catalog.Entry) {
	for _, e := range all {
		if e.Status == catalog.Available && t.Uses(e) == 0 {
			unused = append(unused, e)
		}
	}
	return unused
}
