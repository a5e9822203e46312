package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/web/internal/checks"
	"github.com/knack-dev/knack/skill"
)

// pageRows is the number of skills on one page.
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
	Lacks    string // the part that has not been read yet, as a sentence; empty if complete
	// Missing lists the external sources that cannot be reached, as sentences; it may be empty.
	Missing string
	Here    string // the address of this page if Lacks is set
}

func (s *Site) frame(r *request, title, nav string) frame {
	f := frame{Title: title, Nav: nav, Version: s.o.Version, Query: queryOf(r), Token: s.sessions != nil}
	if r.lacks != nil {
		f.Lacks, f.Here = sentence(r.lacks.State()), r.URL.RequestURI()
	}
	if r.missing != "" {
		f.Missing = sentence(r.missing)
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

// row is one skill in a list.
type row struct {
	Href, Name, Description string
	Place                   string
	Root                    string          // the publisher's name, or else the root's label
	Size, Listing, Loading  int64           // bytes; tokens
	State                   judgement.State // "" if not checked yet
	Severe                  int             // errors and warnings
	Hidden                  bool            // from models
	Called                  string
	Collection              string
	Changed                 time.Time
	Used                    uint64 // loads and reads; only in a list sorted by use
	// MarkedName and Marked are the name and the description with the matches of a query marked.
	MarkedName, Marked []part
}

func rowOf(v catalog.View, e *catalog.Entry, sum *judgement.Summary) row {
	w := row{
		Href: pageOf(e), Name: nameOf(e), Description: skill.Brief(inLine(e.Description), maxRow, display.Cut), Place: e.Place(), Root: e.Root.Title(),
		Size: int64(e.Size), Listing: tokensOf(int64(charactersOf(e))), Loading: tokensOf(int64(e.Size)),
		State: checks.StateOf(e, sum), Hidden: !e.ModelInvocable && e.Status != catalog.Skipped,
		Collection: collectionOf(e), Changed: changedOf(e),
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

// nameOf returns the name of a skill on a page: its name in one line, or else the name of its
// folder or the label of its root.
func nameOf(e *catalog.Entry) string {
	for _, name := range []string{e.Name, e.Folder(), e.Root.Label} {
		if name = inLine(display.CutBytes(name, display.EchoLimit)); name != "" {
			return name
		}
	}
	return "(no name)"
}

// inLine collapses white space. It keeps invisible characters, because [visiblePage] replaces them
// later.
func inLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// checking is the progress of the check of the skills, shown on pages with its results.
type checking struct {
	Known, All int
	Again      string // the address of this page
	// Ago is the age of the last complete check, if the skills are being checked again.
	Ago string
}

// checking returns the progress of the check, or nil if the totals are current.
func (s *Site) checking(t *doctor.Totals, now bool, again string) *checking {
	if now {
		return nil
	}
	c := &checking{Known: t.Judged, All: t.All, Again: again}
	if t.Complete() {
		c.Ago = lastedOf(time.Since(s.checks.LastAt()).Truncate(time.Second))
	}
	return c
}

type homePage struct {
	frame
	Filter          filter
	Facets          []facet
	Orders          []choice
	Rows            []row
	Total, From, To int
	Found           judgement.Statuses
	URL             string // of the MCP endpoint
	Older, Newer    string // addresses of the next and the previous page
	Narrowed        bool
	Without         string // the address without filters
	Rule            string // the title of the rule by which the list is filtered
	Unranked        bool   // the index was not ready
	Again           string // the address of this page
	Checking        *checking
	Since           time.Time // the time when counting began, for a list of unused skills
	ListOf          string    // the client in whose list the skills are cut or missing
}

func (s *Site) home(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	f := filterOf(r.URL.Query(), queryOf(r))
	p := homePage{
		frame: s.frame(r, "Skills", "home"), Filter: f,
		URL: s.origin(r) + "/mcp", Without: filter{Query: f.Query, Sort: f.Sort}.href(), Narrowed: f.On() > 0, Orders: f.choices(),
	}
	if rule, ok := check.RuleOf(f.Rule); ok {
		p.Rule = rule.Title
	}
	if f.Used == never {
		p.Since = s.o.Usage.Since()
	}
	if client := cmp.Or(f.Left, f.Cut); client != "" {
		if p.ListOf = "other clients"; client != othersKey {
			p.ListOf = clientName(client)
		}
	}
	totals, now := s.checks.Soon(r.Context(), v)
	sh := s.shelfOf(v)
	p.Found = totals.Count.Statuses
	var by filterResult
	if f.Query == "" && f.On() == 0 {
		if by, err = sh.unfiltered(r.Context(), v, totals); err != nil {
			return err
		}
	} else {
		all, ranked, err := foundSoon(r.Context(), v, f.Query)
		if err != nil {
			return err
		}
		p.Unranked = !ranked
		by = f.tally(s.accepted(v, f, all), totals, sh)
	}
	p.Facets = f.facets(totals, by, sh)
	entries := s.ordered(v, by.entries, f.Sort)
	p.Total = len(entries)
	last := max(1, (p.Total+pageRows-1)/pageRows)
	f.Page = min(f.Page, last)
	p.Again = f.href()
	p.From, p.To = min((f.Page-1)*pageRows, p.Total), min(f.Page*pageRows, p.Total)
	p.Checking = s.checking(totals, now, p.Again)
	words := wordsOf(f.Query)
	for _, e := range entries[p.From:p.To] {
		w := rowOf(v, e, totals.Summaries[e])
		if f.Sort == sortUsed {
			w.Used = s.o.Usage.Uses(e)
		}
		if len(words) > 0 {
			w.MarkedName = splitMatches(w.Name, words)
			if w.Marked = highlight(inLine(e.Description), words); e.Status == catalog.Skipped {
				w.Marked = nil // the row shows the reason instead
			}
		}
		p.Rows = append(p.Rows, w)
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

// From1 returns the number of the first row, counted from 1.
func (p homePage) From1() int { return p.From + 1 }
