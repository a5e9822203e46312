package usage

import (
	"cmp"
	"slices"
	"time"

	"github.com/knack-dev/knack/catalog"
)

// Report has the counts of a tally for the skills in one view.
type Report struct {
	Since   time.Time
	Total   Counts
	Clients []Client // the most used first
	Skills  []Skill  // in the order of the view; without skills that were never offered
	Hours   []Period // the last day, in this process only
	Weeks   []Period // the last [Weeks] weeks
	Beyond  uint64   // uses not counted because there are too many skills and clients
}

// Client is a client with its counts.
type Client struct {
	Name string `json:"name"`
	Counts
}

// Skill is a skill with its counts and the clients that used it.
type Skill struct {
	Entry *catalog.Entry
	Counts
	Clients []Client
}

// Period has the loads and reads of an hour or a week. Only a week has Clients.
type Period struct {
	At time.Time // when it begins
	Counts
	Clients []Client
}

// Seen returns the report on the skills of a view. It omits all other skills, because even a number
// would reveal them.
func (t *Tally) Seen(v catalog.View) Report {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fold()
	now := time.Now().UTC()
	out := Report{Since: t.since, Clients: []Client{}, Hours: make([]Period, maxHours), Weeks: make([]Period, Weeks)}
	first := weekOf(now) - Weeks + 1
	for i := range out.Weeks {
		out.Weeks[i].At = (first + week(i)).start()
	}
	for i := range out.Hours {
		out.Hours[i].At = now.Truncate(time.Hour).Add(time.Duration(i-maxHours+1) * time.Hour)
	}
	if v.Whole() {
		out.Beyond = t.beyond
	}
	clients := make([]Counts, len(t.clients))
	inWeeks := make([][Weeks]Counts, len(t.clients))
	for _, e := range v.Entries {
		if e.Status == catalog.Skipped {
			continue
		}
		uri := e.URI().String()
		uses := t.skills[uri]
		if uses == nil {
			continue
		}
		s := Skill{Entry: e, Clients: []Client{}}
		for i := range uses.by {
			p := &uses.by[i]
			s.add(p.Counts)
			clients[p.client].add(p.Counts)
			if p.Used() > 0 {
				s.Clients = append(s.Clients, Client{t.clients[p.client], p.Counts})
			}
			for _, w := range p.weeks {
				if at := int(w.at - first); at >= 0 && at < Weeks {
					n := Counts{Loaded: uint64(w.loaded), Read: uint64(w.read)}
					inWeeks[p.client][at].add(n)
					out.Weeks[at].add(n)
				}
			}
		}
		slices.SortFunc(s.Clients, byUse)
		out.Total.add(s.Counts)
		out.Skills = append(out.Skills, s)
		for i := range out.Hours {
			at := out.Hours[i].At
			if h := &t.hours[at.Unix()/3600%maxHours]; t.usesOf(uri) > 0 && h.at.Equal(at) {
				out.Hours[i].add(h.by[uri])
			}
		}
	}
	for n, c := range clients {
		if c == (Counts{}) {
			continue
		}
		out.Clients = append(out.Clients, Client{t.clients[n], c})
		for i := range out.Weeks {
			if c := inWeeks[n][i]; c.Used() > 0 {
				out.Weeks[i].Clients = append(out.Weeks[i].Clients, Client{t.clients[n], c})
			}
		}
	}
	slices.SortFunc(out.Clients, byUse)
	for i := range out.Weeks {
		slices.SortFunc(out.Weeks[i].Clients, byUse)
	}
	return out
}

// Compare orders counts by use, the most used first.
func (c Counts) Compare(o Counts) int {
	return cmp.Or(cmp.Compare(o.Loaded, c.Loaded), cmp.Compare(o.Read, c.Read), cmp.Compare(o.Offered, c.Offered))
}

func byUse(a, b Client) int { return cmp.Or(a.Compare(b.Counts), cmp.Compare(a.Name, b.Name)) }

// Process returns the counts of the skills of a view in this process, by client. It omits the
// counts of earlier processes, because a metric's counter begins at zero with its process.
func (t *Tally) Process(v catalog.View) map[string]Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.fold()
	out := map[string]Counts{}
	sums := make([]Counts, len(t.clients))
	for _, e := range v.Entries {
		if e.Status == catalog.Skipped {
			continue
		}
		if uses := t.skills[e.URI().String()]; uses != nil {
			for i := range uses.by {
				p := &uses.by[i]
				sums[p.client].add(Counts{p.Offered - p.before.Offered, p.Loaded - p.before.Loaded, p.Read - p.before.Read})
			}
		}
	}
	for n, c := range sums {
		if c != (Counts{}) {
			out[t.clients[n]] = c
		}
	}
	return out
}
