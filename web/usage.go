package web

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Bounds of what is counted: who names clients and skills may be anybody.
const (
	maxClients = 100
	maxPairs   = 100_000
	maxHours   = 24
)

// Usage counts what agents do with skills since it was made: which were offered in
// a list, loaded, or had a file read. It keeps numbers and no content.
type Usage struct {
	mu    sync.Mutex
	now   func() time.Time
	since time.Time
	by    map[pair]*Counts
	names map[string]bool // the clients counted under their own names

	listed catalog.View      // the view that lists were made of
	lists  map[string]uint64 // and how many, by client, that are not folded yet

	hours [maxHours]hour
	total Counts
}

type pair struct{ client, uri string }

type hour struct {
	at time.Time
	Counts
}

// Counts are how often skills were offered, loaded, and read from.
type Counts struct {
	Offered uint64 `json:"offered"`
	Loaded  uint64 `json:"loaded"`
	Read    uint64 `json:"read"`
}

func (c *Counts) add(o Counts) {
	c.Offered += o.Offered
	c.Loaded += o.Loaded
	c.Read += o.Read
}

// NewUsage begins to count.
func NewUsage() *Usage {
	return &Usage{now: time.Now, since: time.Now(), by: map[pair]*Counts{}, names: map[string]bool{}, lists: map[string]uint64{}}
}

// Listed counts that a client was given a list of the view's skills: offered are
// those whose name stands in it.
func (u *Usage) Listed(v catalog.View, clientName string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.listed.Snapshot != v.Snapshot {
		u.fold()
		u.listed = v
	}
	u.lists[u.known(clientName)]++
}

// fold counts the lists of one snapshot for each skill in them: lists are asked
// for often, and change seldom. It is for the holder of mu.
func (u *Usage) fold() {
	if len(u.lists) == 0 {
		return
	}
	fits := tool.Fits(u.listed)
	for name, n := range u.lists {
		left := map[*catalog.Entry]bool{}
		for _, f := range fits {
			if f.Client == "" || strings.EqualFold(f.Client, name) {
				clear(left)
				for _, e := range f.Left {
					left[e] = true
				}
			}
		}
		for _, e := range u.listed.Listed {
			if !left[e] {
				u.count(name, e, Counts{Offered: n})
			}
		}
	}
	clear(u.lists)
}

// Called counts a call of a tool that was answered: a skill loaded, or a file of
// one read.
func (u *Usage) Called(v catalog.View, clientName, toolName string, args json.RawMessage) {
	var a struct {
		Name      string `json:"name"`
		Command   string `json:"command"`
		SkillName string `json:"skill_name"`
		FilePath  string `json:"file_path"`
		URI       string `json:"uri"`
	}
	if json.Unmarshal(args, &a) != nil {
		return
	}
	if a.URI != "" {
		u.Resource(v, clientName, a.URI)
		return
	}
	n := Counts{Loaded: 1}
	if toolName == "read_file_in_skill" && a.FilePath != skill.MainFile {
		n = Counts{Read: 1}
	}
	u.named(v, clientName, cmp.Or(a.Name, a.Command, a.SkillName), n)
}

// Invoked counts that a person took a skill's prompt.
func (u *Usage) Invoked(v catalog.View, clientName, prompt string) {
	u.named(v, clientName, prompt, Counts{Loaded: 1})
}

func (u *Usage) named(v catalog.View, clientName, called string, n Counts) {
	if called == "" {
		return
	}
	e := v.Named(called)
	if uri, err := skill.ParseURI(strings.TrimSpace(called)); err == nil {
		e, _ = v.At(uri)
	}
	if e == nil {
		e = v.ServedInFolder(called)
	}
	if e == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count(clientName, e, n)
}

// Resource counts that a resource was read.
func (u *Usage) Resource(v catalog.View, clientName, uri string) {
	parsed, err := skill.ParseURI(strings.TrimSpace(uri))
	if err != nil {
		return
	}
	e, file := v.At(parsed)
	if e == nil || e.Status == catalog.Skipped {
		return
	}
	n := Counts{Read: 1}
	if file == skill.MainFile || file == "." {
		n = Counts{Loaded: 1}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.count(clientName, e, n)
}

// count is for the holder of mu.
func (u *Usage) count(clientName string, e *catalog.Entry, n Counts) {
	at := pair{u.known(clientName), e.URI.String()}
	c := u.by[at]
	if c == nil {
		if len(u.by) >= maxPairs {
			at.uri = "" // counted in the sums alone
			if c = u.by[at]; c == nil {
				c = &Counts{}
				u.by[at] = c
			}
		} else {
			c = &Counts{}
			u.by[at] = c
		}
	}
	c.add(n)
	u.total.add(n)
	now := u.now().Truncate(time.Hour)
	h := &u.hours[now.Unix()/3600%maxHours]
	if !h.at.Equal(now) {
		*h = hour{at: now}
	}
	h.add(n)
}

// known is the name under which a client is counted. It is for the holder of mu.
func (u *Usage) known(clientName string) string {
	name := cmp.Or(skill.OneLine(skill.Echo(clientName)), "unnamed")
	if !u.names[name] {
		if len(u.names) >= maxClients {
			return "others"
		}
		u.names[name] = true
	}
	return name
}

// sums are the counts by client, by skill, and of all.
func (u *Usage) sums() (byClient, bySkill map[string]*Counts, total Counts, hours []hour) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fold()
	byClient, bySkill = map[string]*Counts{}, map[string]*Counts{}
	for at, c := range u.by {
		for key, m := range map[string]map[string]*Counts{at.client: byClient, at.uri: bySkill} {
			if m[key] == nil {
				m[key] = &Counts{}
			}
			m[key].add(*c)
		}
	}
	now := u.now().Truncate(time.Hour)
	for i := range maxHours {
		at := now.Add(time.Duration(i-maxHours+1) * time.Hour)
		h := u.hours[at.Unix()/3600%maxHours]
		if !h.at.Equal(at) {
			h = hour{at: at}
		}
		hours = append(hours, h)
	}
	return byClient, bySkill, u.total, hours
}

// users are the clients that loaded a skill or read from it, by the skill's URI.
func (u *Usage) users() map[string][]useRow {
	u.mu.Lock()
	defer u.mu.Unlock()
	of := map[string][]useRow{}
	for at, c := range u.by {
		if c.Loaded+c.Read > 0 {
			of[at.uri] = append(of[at.uri], useRow{Name: at.client, Counts: *c})
		}
	}
	return of
}

type usagePage struct {
	frame
	Since   time.Time
	Total   Counts
	Clients []useRow
	Skills  []useRow
	More    int
	Bars    []bar
	Most    uint64
	Unused  int
}

type useRow struct {
	Href, Name string
	Counts
	Users []useRow // the clients, of a skill
}

// byUse puts what is used most first.
func byUse(a, b useRow) int {
	return cmp.Or(cmp.Compare(b.Loaded, a.Loaded), cmp.Compare(b.Read, a.Read), cmp.Compare(b.Offered, a.Offered), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Href, b.Href))
}

// bar is one hour of the chart, in units of a drawing 120 high.
type bar struct {
	X               int
	LoadedY, Loaded int
	ReadY, Read     int
	Label           string
	NLoaded, NRead  uint64
	Tick            bool // the hour is written below
}

const chartHeight = 120

func (s *Site) usage(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	byClient, bySkill, total, hours := s.o.Usage.sums()
	p := usagePage{frame: s.frame(r, "Usage", "usage"), Since: s.o.Usage.since, Total: total}
	for _, name := range slices.Sorted(maps.Keys(byClient)) {
		p.Clients = append(p.Clients, useRow{Name: name, Counts: *byClient[name]})
	}
	users := s.o.Usage.users()
	for uri, c := range bySkill {
		parsed, err := skill.ParseURI(uri)
		if err != nil {
			continue
		}
		if e, _ := v.At(parsed); e != nil { // what the one who asks may see
			p.Skills = append(p.Skills, useRow{pageOf(e), nameOf(e), *c, slices.SortedFunc(slices.Values(users[uri]), byUse)})
			if c.Loaded+c.Read == 0 {
				p.Unused++
			}
		}
	}
	slices.SortFunc(p.Skills, byUse)
	slices.SortFunc(p.Clients, byUse)
	if p.More = len(p.Skills) - healthRows; p.More > 0 {
		p.Skills = p.Skills[:healthRows]
	}
	p.chart(hours)
	return s.render(r, http.StatusOK, "usage", p)
}

// chart draws the last day, an hour a bar.
func (p *usagePage) chart(hours []hour) {
	for _, h := range hours {
		p.Most = max(p.Most, h.Loaded+h.Read)
	}
	scale := func(n uint64) int { return int(n * chartHeight / max(p.Most, 1)) }
	for i, h := range hours {
		b := bar{X: i * 20, Loaded: scale(h.Loaded), Read: scale(h.Read), Label: h.at.UTC().Format("15:04"), NLoaded: h.Loaded, NRead: h.Counts.Read, Tick: i%6 == 0}
		b.LoadedY = chartHeight - b.Loaded
		b.ReadY = b.LoadedY - b.Read
		p.Bars = append(p.Bars, b)
	}
}
