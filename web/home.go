package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// pageRows is how many skills one page lists.
const pageRows = 50

// frame is the data of the header and footer of every page.
type frame struct {
	Title, Nav, Version string
	Query               string
	Token               bool
	// SignedIn reports whether the client has signed in with a cookie, and so can sign
	// out. The token's subject is named in Who.
	SignedIn bool
	Who      string
	Lacks    string // what has not been read yet, as a sentence; empty if complete
	Here     string // the address of this page if Lacks is set
}

func (s *Site) frame(r *request, title, nav string) frame {
	f := frame{Title: title, Nav: nav, Version: s.o.Version, Query: queryOf(r), Token: s.sessions != nil}
	if r.lacks != nil {
		f.Lacks, f.Here = sentence(r.lacks.State()), r.URL.RequestURI()
	}
	if s.byCookie(r) {
		f.SignedIn, f.Who = true, display.OneLine(display.CutBytes(access.SubjectOf(r.Context()).Name, display.EchoLimit))
	}
	return f
}

type errorPage struct {
	frame
	Status int
	Say    string
}

func queryOf(r *request) string {
	return display.OneLine(strings.ToValidUTF8(display.CutBytes(r.URL.Query().Get("q"), maxQuery), "\ufffd")) // the page shows the query
}

var (
	states = []doctor.State{doctor.Fine, doctor.Problems, doctor.Shadowed, doctor.Unlisted, doctor.Skipped}
	scopes = []skill.Scope{skill.ScopeProject, skill.ScopeGlobal, skill.ScopeBuiltin}
)

// filter is the set of filters of a list.
type filter struct {
	Query, Scope, Root string
	State              doctor.State
	Page               int
}

// href returns the address of the list with this filter.
func (f filter) href() string {
	q := url.Values{}
	for key, value := range map[string]string{"q": f.Query, "scope": f.Scope, "root": f.Root, "state": string(f.State)} {
		if value != "" {
			q.Set(key, value)
		}
	}
	if f.Page > 1 {
		q.Set("page", strconv.Itoa(f.Page))
	}
	if len(q) == 0 {
		return "/"
	}
	return "/?" + q.Encode()
}

// row is one skill in a list.
type row struct {
	Href, Name, Description string
	Place, Root             string
	Size, Listing, Loading  int64        // bytes; tokens
	State                   doctor.State // "" if not checked yet
	Severe                  int          // errors and warnings
	Hidden                  bool         // from models
	Called                  string
}

func rowOf(v catalog.View, e *catalog.Entry, sum *doctor.Summary) row {
	w := row{
		Href: pageOf(e), Name: nameOf(e), Description: display.Cut(inLine(e.Description), 320), Place: e.Place(), Root: e.Root.Label,
		Size: int64(e.Size), Listing: tokensOf(int64(charactersOf(e))), Loading: tokensOf(int64(e.Size)),
		State: stateOf(e, sum), Hidden: !e.ModelInvocable && e.Status != catalog.Skipped,
	}
	if sum != nil {
		w.Severe = sum.Errors + sum.Warnings
	}
	switch e.Status {
	case catalog.Shadowed, catalog.Copy, catalog.Unlisted:
		w.Called = v.Called(e)
	case catalog.Skipped:
		if p, ok := e.SkipReason(); ok {
			w.Description = inLine(p.Message)
		}
	}
	return w
}

// nameOf returns the name of a skill on a page: its name in one line, or else its
// folder's name or its root's label.
func nameOf(e *catalog.Entry) string {
	for _, name := range []string{e.Name, e.Folder(), e.Root.Label} {
		if name = inLine(display.CutBytes(name, display.EchoLimit)); name != "" {
			return name
		}
	}
	return "(no name)"
}

// inLine collapses white space. It keeps invisible characters, which [visiblePage]
// replaces.
func inLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// choice is one value of a filter.
type choice struct {
	Label string
	Href  string
	Count int
	Open  bool // the count may still grow
	On    bool
}

// checking is the progress of the check of the skills, shown on pages with its results.
type checking struct {
	Known, All int
	Again      string // the address of this page
	// Ago is the age of the last complete check, if the skills are being checked again.
	Ago string
}

// checking returns nil if the totals are current.
func (s *Site) checking(t *totals, now bool, again string) *checking {
	if now {
		return nil
	}
	c := &checking{Known: t.known, All: t.all, Again: again}
	if t.complete() {
		c.Ago = lastedOf(time.Since(s.checks.lastAt()).Truncate(time.Second))
	}
	return c
}

type facet struct {
	Title   string
	Choices []choice
}

type homePage struct {
	frame
	Filter                filter
	Facets                []facet
	Rows                  []row
	Total, From, To       int
	All, Served, NSkipped int
	NUnlisted             int    // included in Served
	URL                   string // of the MCP endpoint
	Older, Newer          string // addresses of the next and the previous page
	Narrowed              bool
	Without               string // the address without filters
	Unranked              bool   // the index was not ready
	Again                 string // the address of this page
	Checking              *checking
}

func (s *Site) home(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	q := r.URL.Query()
	f := filter{queryOf(r), display.CutBytes(q.Get("scope"), 64), display.CutBytes(q.Get("root"), display.EchoLimit), doctor.State(display.CutBytes(q.Get("state"), 64)), 1}
	if n, err := strconv.Atoi(q.Get("page")); err == nil && n > 0 {
		f.Page = n
	}
	p := homePage{frame: s.frame(r, "Skills", "home"), Filter: f, All: len(v.Entries), Served: len(v.Entries) - len(v.Skipped), NSkipped: len(v.Skipped), URL: s.origin(r) + "/mcp", Without: filter{Query: f.Query}.href()}
	p.NUnlisted = unlisted(v)
	p.Narrowed = f.Scope != "" || f.Root != "" || f.State != ""
	all, ranked, err := foundSoon(r.Context(), v, f.Query)
	if err != nil {
		return err
	}
	p.Unranked = !ranked
	totals, now := s.checks.soon(r.Context(), v)
	entries := p.narrow(v, all, totals)
	p.Total = len(entries)
	last := max(1, (p.Total+pageRows-1)/pageRows)
	f.Page = min(f.Page, last)
	p.Again = f.href()
	p.From, p.To = min((f.Page-1)*pageRows, p.Total), min(f.Page*pageRows, p.Total)
	p.Checking = s.checking(totals, now, p.Again)
	for _, e := range entries[p.From:p.To] {
		p.Rows = append(p.Rows, rowOf(v, e, totals.summaries[e]))
	}
	turn := func(n int) string { g := f; g.Page = n; return g.href() }
	if f.Page > 1 {
		p.Newer = turn(f.Page - 1)
	}
	if f.Page < last {
		p.Older = turn(f.Page + 1)
	}
	return s.render(r, http.StatusOK, "home", p)
}

// unlisted counts the unlisted skills.
func unlisted(v catalog.View) (n int) {
	for _, e := range v.Entries {
		if e.Status == catalog.Unlisted {
			n++
		}
	}
	return n
}

// narrow applies the filters. For each value of a filter it counts the skills that this
// value would show together with the other filters.
func (p *homePage) narrow(v catalog.View, all []*catalog.Entry, t *totals) (kept []*catalog.Entry) {
	f := p.Filter
	byScope, byRoot, byState := map[string]int{}, map[string]int{}, map[doctor.State]int{}
	for _, e := range all {
		scope, root, state := string(e.Root.Scope), e.Root.Label, stateOf(e, t.summaries[e])
		inScope, inRoot, inState := f.Scope == "" || f.Scope == scope, f.Root == "" || f.Root == root, f.State == state || f.State == "" && state != doctor.Unlisted
		if inRoot && inState {
			byScope[scope]++
		}
		if inScope && inState {
			byRoot[root]++
		}
		if inScope && inRoot {
			byState[state]++
		}
		if inScope && inRoot && inState {
			kept = append(kept, e)
		}
	}
	one := func(label string, n int, on bool, g filter) choice {
		g.Page = 1
		return choice{Label: label, Href: g.href(), Count: n, On: on}
	}
	state := facet{Title: "Health"}
	for _, w := range states {
		g := f
		if g.State = w; f.State == w {
			g.State = ""
		}
		c := one(string(w), byState[w], f.State == w, g)
		if w == doctor.Unlisted && c.Count == 0 && !c.On {
			continue // few servers have an excluded root
		}
		c.Open = !t.complete() && (w == doctor.Fine || w == doctor.Problems)
		state.Choices = append(state.Choices, c)
	}
	scope := facet{Title: "Scope"}
	for _, w := range scopes {
		g := f
		if g.Scope = string(w); f.Scope == string(w) {
			g.Scope = ""
		}
		if byScope[string(w)] > 0 || f.Scope == string(w) {
			scope.Choices = append(scope.Choices, one(string(w), byScope[string(w)], f.Scope == string(w), g))
		}
	}
	root := facet{Title: "Root"}
	for _, w := range v.Roots {
		g := f
		if g.Root = w.Label; f.Root == w.Label {
			g.Root = ""
		}
		if byRoot[w.Label] > 0 || f.Root == w.Label {
			root.Choices = append(root.Choices, one(w.Label, byRoot[w.Label], f.Root == w.Label, g))
		}
	}
	p.Facets = []facet{state, scope, root}
	return kept
}

// From1 returns the number of the first row, counted from 1.
func (p homePage) From1() int { return p.From + 1 }
