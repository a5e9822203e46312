package web

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/web/internal/latest"
)

// Limits of the counts. Any client can choose names of clients and skills.
const (
	maxClients = 100
	maxPairs   = 100_000
	maxHours   = 24
)

// Usage counts what agents do with skills since it was created: how often each was
// offered in a list, loaded, or had a file read. It keeps numbers and no content.
type Usage struct {
	mu    sync.Mutex
	now   func() time.Time
	since time.Time
	by    map[pair]*Counts
	of    map[string]Counts // loads and reads by the skill's URI
	names map[string]bool   // clients counted under their own names

	lists map[*catalog.Snapshot]*lists // lists not folded yet

	hours [maxHours]hour
}

type pair struct{ client, uri string }

// hour has the loads and reads of one hour, by the skill's URI.
type hour struct {
	at time.Time
	by map[string]Counts
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

// NewUsage returns a Usage that counts from now.
func NewUsage() *Usage {
	return &Usage{now: time.Now, since: time.Now(), by: map[pair]*Counts{}, of: map[string]Counts{}, names: map[string]bool{}, lists: map[*catalog.Snapshot]*lists{}}
}

// Listed records that a client got a list of the view's skills. Skills whose names are
// in the list count as offered.
func (u *Usage) Listed(v catalog.View, clientName string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	l := u.lists[v.Snapshot]
	if l == nil {
		if len(u.lists) >= latest.Most {
			u.fold()
		}
		l = &lists{v, map[string]uint64{}}
		u.lists[v.Snapshot] = l
	}
	l.by[u.known(clientName)]++
}

// lists counts the lists made of one view, by client.
type lists struct {
	view catalog.View
	by   map[string]uint64
}

// fold adds the recorded lists to the counts of each skill in them. Lists are requested
// often and change seldom, so they are counted together. The caller holds mu.
func (u *Usage) fold() {
	for _, l := range u.lists {
		fits := tool.Fits(l.view)
		for name, n := range l.by {
			left := map[*catalog.Entry]bool{}
			for _, f := range fits {
				if f.Client == "" || strings.EqualFold(f.Client, name) {
					clear(left)
					for _, e := range f.Left {
						left[e] = true
					}
				}
			}
			for _, e := range l.view.Listed {
				if !left[e] {
					u.count(name, e, Counts{Offered: n})
				}
			}
		}
	}
	clear(u.lists)
}

// Called records an answered tool call, which loaded a skill or read one of its files.
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

// Invoked records that a user invoked a skill's prompt.
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

// Resource records that a client read a resource.
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

// count adds n to the counts of a skill and a client. The caller holds mu.
func (u *Usage) count(clientName string, e *catalog.Entry, n Counts) {
	at := pair{u.known(clientName), e.URI().String()}
	c := u.by[at]
	if c == nil {
		if len(u.by) >= maxPairs {
			return
		}
		c = &Counts{}
		u.by[at] = c
	}
	c.add(n)
	if n.Loaded+n.Read == 0 {
		return
	}
	of := u.of[at.uri]
	of.add(Counts{Loaded: n.Loaded, Read: n.Read})
	u.of[at.uri] = of
	now := u.now().Truncate(time.Hour)
	h := &u.hours[now.Unix()/3600%maxHours]
	if !h.at.Equal(now) {
		*h = hour{now, map[string]Counts{}}
	}
	sum := h.by[at.uri]
	sum.add(n)
	h.by[at.uri] = sum
}

// countsOf returns how often a skill was loaded and read from.
func (u *Usage) countsOf(e *catalog.Entry) Counts {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.of) == 0 || e.Status == catalog.Skipped {
		return Counts{}
	}
	return u.of[e.URI().String()]
}

func (u *Usage) uses(e *catalog.Entry) uint64 {
	c := u.countsOf(e)
	return c.Loaded + c.Read
}

// mostFirst returns the skills with those that are used most first, and the others in
// their order.
func (u *Usage) mostFirst(all []*catalog.Entry) []*catalog.Entry {
	type use struct {
		e *catalog.Entry
		n uint64
	}
	var used []use
	out, rest := make([]*catalog.Entry, 0, len(all)), make([]*catalog.Entry, 0, len(all))
	for _, e := range all {
		if n := u.uses(e); n > 0 {
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

// known returns the name under which a client is counted. The caller holds mu.
func (u *Usage) known(clientName string) string {
	name := cmp.Or(display.OneLine(display.Echo(clientName)), "unnamed")
	if !u.names[name] {
		if len(u.names) >= maxClients {
			return "others"
		}
		u.names[name] = true
	}
	return name
}

// sums are the counts for the skills of one view.
type sums struct {
	clients map[string]Counts
	skills  []useRow
	total   Counts
	hours   []bar
	most    uint64 // maximum of loads and reads in one hour
}

// seen sums the counts of the skills in a view. It leaves out all other skills, since
// numbers reveal them too.
func (u *Usage) seen(v catalog.View) sums {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.fold()
	out := sums{clients: map[string]Counts{}}
	inView := map[string]*catalog.Entry{}
	find := func(uri string) *catalog.Entry {
		e, ok := inView[uri]
		if !ok {
			if parsed, err := skill.ParseURI(uri); err == nil {
				if at, file := v.At(parsed); file == skill.MainFile { // otherwise the URI is a file of an enclosing skill
					e = at
				}
			}
			inView[uri] = e
		}
		return e
	}
	rows := map[string]*useRow{}
	for at, c := range u.by {
		e := find(at.uri)
		if e == nil {
			continue
		}
		out.total.add(*c)
		client := out.clients[at.client]
		client.add(*c)
		out.clients[at.client] = client
		row := rows[at.uri]
		if row == nil {
			row = &useRow{Href: pageOf(e), Name: nameOf(e)}
			rows[at.uri] = row
		}
		row.add(*c)
		if c.Loaded+c.Read > 0 {
			row.Users = append(row.Users, useRow{Name: at.client, Counts: *c})
		}
	}
	for _, row := range rows {
		slices.SortFunc(row.Users, byUse)
		out.skills = append(out.skills, *row)
	}
	slices.SortFunc(out.skills, byUse)
	now := u.now().Truncate(time.Hour)
	for i := range maxHours {
		at := now.Add(time.Duration(i-maxHours+1) * time.Hour)
		b := bar{X: i * 20, Label: at.UTC().Format("15:04"), Tick: i%6 == 0}
		if h := u.hours[at.Unix()/3600%maxHours]; h.at.Equal(at) {
			for uri, c := range h.by {
				if find(uri) != nil {
					b.NLoaded += c.Loaded
					b.NRead += c.Read
				}
			}
		}
		out.most = max(out.most, b.NLoaded+b.NRead)
		out.hours = append(out.hours, b)
	}
	return out
}

// usageRows is how many skills the page shows.
const usageRows = 100

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
	Users []useRow // the clients of a skill
}

// byUse orders rows by use, most used first.
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
	Tick            bool // the hour is written below the bar
}

const chartHeight = 120

func (s *Site) usage(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	sums := s.o.Usage.seen(v)
	p := usagePage{frame: s.frame(r, "Usage", "usage"), Since: s.o.Usage.since, Total: sums.total, Skills: sums.skills, Bars: sums.hours, Most: sums.most}
	for name, c := range sums.clients {
		p.Clients = append(p.Clients, useRow{Name: name, Counts: c})
	}
	slices.SortFunc(p.Clients, byUse)
	for _, row := range p.Skills {
		if row.Loaded+row.Read == 0 {
			p.Unused++
		}
	}
	if p.More = len(p.Skills) - usageRows; p.More > 0 {
		p.Skills = p.Skills[:usageRows]
	}
	p.chart()
	return s.render(r, http.StatusOK, "usage", p)
}

// leastBar is the minimum height of a bar, so that one read beside a hundred loads is
// visible, even on a phone.
const leastBar = 3

// chart computes the bars of the last day, one for each hour.
func (p *usagePage) chart() {
	scale := func(n uint64) int {
		if n == 0 {
			return 0
		}
		return max(int(n*chartHeight/max(p.Most, 1)), leastBar)
	}
	for i := range p.Bars {
		b := &p.Bars[i]
		b.Loaded, b.Read = scale(b.NLoaded), scale(b.NRead)
		b.LoadedY = chartHeight - b.Loaded
		b.ReadY = b.LoadedY - b.Read
	}
}
