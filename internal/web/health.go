package web

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/web/internal/scans"
	"github.com/knack-dev/knack/internal/web/internal/sources"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Numbers of items of each kind that a page shows.
const (
	healthRows = 20  // a filtered list has the rest
	noticeRows = 100 // no list has the rest
)

type healthPage struct {
	frame
	*doctor.Totals
	Roots      []rootRow
	Absent     []string // roots
	Sources    []sources.Row
	Skipped    []skippedRow
	Held       []skippedRow
	Checking   *checking
	Collisions []collisionRow
	Budgets    []budget
	Heavy      []heavyRow
	Snapshot   uint64 // 0 if the client sees only some skills
	Refreshed  time.Time
	Took       string
	Ago        string
	Usage      usageOf
}

// severityRows lists the rules whose worst finding has the given severity.
type severityRows struct {
	Severity skill.Severity
	Label    string // the number of findings with this severity
	Rules    []*doctor.Rule
}

// Severities returns the rules by severity, the worst first.
func (p healthPage) Severities() []severityRows {
	c := p.Count.Severities
	out := []severityRows{
		{Severity: skill.SeverityError, Label: plural(c.Errors, "error")},
		{Severity: skill.SeverityWarning, Label: plural(c.Warnings, "warning")},
		{Severity: skill.SeverityInfo, Label: plural(c.Infos, "info")},
	}
	for i := range out {
		for _, rule := range p.Rules {
			if rule.Severity == out[i].Severity {
				out[i].Rules = append(out[i].Rules, rule)
			}
		}
	}
	return out
}

// Collided counts the skills with a name that loads another skill.
func (p healthPage) Collided() judgement.Statuses {
	c := p.Count
	return judgement.Statuses{Skills: c.Shadowed + c.Copies, Shadowed: c.Shadowed, Copies: c.Copies}
}

// FirstUnpublished returns the rows of the first unpublished skills.
func (p healthPage) FirstUnpublished() (rows []unpublishedRow) {
	for _, u := range p.Unpublished[:min(len(p.Unpublished), healthRows)] {
		rows = append(rows, unpublishedRow{u, pageOf(u.Entry), nameOf(u.Entry)})
	}
	return rows
}

type unpublishedRow struct {
	doctor.Unpublished
	Href, Name string
}

type rootRow struct {
	doctor.RootStatus
	Href      string // the list of its skills
	URI       string // the prefix of its skills' URIs
	Late      bool   // not an error: the root has not been read yet
	More      int    // number of notices that the page leaves out
	Publisher skill.Publisher
}

type skippedRow struct {
	Href, Name, Place string
	Reason            skill.Problem
	Findings          []finding
	Held              bool // by the operator's policy
}

type collisionRow struct {
	Href, Name, Place, Load string
	Copy                    bool
	By                      relative
}

// budget describes how the list of skills fits one client.
type budget struct {
	Client                  string
	Limit                   int
	Budget, Need            int
	Form                    tool.Form
	Cut                     int
	All                     int // number of skills that the list is made from
	Shortened, ByName, Left int
	// The first skills that are shortened or omitted.
	ShortNames, LeftNames []relative
	ShortHref, LeftHref   string // complete lists
	// Widths in a drawing of 1,000 units.
	NeedWidth, BudgetWidth, LimitX int
}

// Own returns how many characters of the client's limit the tool's own text takes.
func (b budget) Own() int { return max(b.Limit-b.Budget, 0) }

// MoreShort returns the number of shortened skills that are not named.
func (b budget) MoreShort() int { return b.Shortened - len(b.ShortNames) }

// MoreLeft returns the number of omitted skills that are not named.
func (b budget) MoreLeft() int { return b.Left - len(b.LeftNames) }

// namesOf returns the names of the first 20 skills of a list, with the addresses of
// their pages.
func namesOf(all []*catalog.Entry) (out []relative) {
	for _, e := range all[:min(len(all), 20)] {
		out = append(out, relative{Href: pageOf(e), Place: nameOf(e)})
	}
	return out
}

// heavyRow is a skill that takes a large part of the list.
type heavyRow struct {
	Href, Name string
	Characters int
	Width      int // in percent of the widest
}

func (s *Site) health(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	p := *s.reports.Get(v, func() *healthPage { return s.report(v) })
	p.frame = s.frame(r, "Health", "health")
	totals, now := s.checks.Soon(r.Context(), v)
	p.Totals, p.Checking = totals, s.checking(totals, now, "/health")
	p.Usage, p.Sources = s.usageOf(v), s.sourceRows(v)
	at, took := s.o.Catalog.Refreshed()
	p.Refreshed, p.Took, p.Ago = at, lastedOf(took), "less than 1 s"
	if ago := time.Since(at).Truncate(time.Second); ago > 0 {
		p.Ago = lastedOf(ago)
	}
	return s.render(r, http.StatusOK, "health", p)
}

// report computes the part of the health page that depends only on the snapshot. It
// examines every skill, so it runs once for all clients with the same view. Fitting the
// list to each client is half of the work and runs concurrently.
func (s *Site) report(v catalog.View) *healthPage {
	skipped, heldBack := doctor.SplitSkipped(v)
	p := &healthPage{}
	if !v.Narrowed() {
		p.Snapshot = v.Version // the version would reveal changes of hidden skills
	}
	fits := make(chan []tool.Fit, 1)
	go func() { fits <- s.fitsOf(v) }()
	for i, root := range doctor.Roots(v) {
		if v.Roots[i].IsAbsent() {
			p.Absent = append(p.Absent, root.Label)
		} else {
			p.Roots = append(p.Roots, rootRowOf(root, v.Roots[i]))
		}
	}
	for _, e := range skipped[:min(len(skipped), healthRows)] {
		p.Skipped = append(p.Skipped, skippedRowOf(e))
	}
	for _, e := range heldBack[:min(len(heldBack), healthRows)] {
		p.Held = append(p.Held, skippedRowOf(e))
	}
	for _, e := range v.Entries {
		p.addCollision(v, e)
	}
	p.heavy(v)
	p.budgets(v, <-fits)
	return p
}

// fitsOf returns for each client how the list of skills fits.
func (s *Site) fitsOf(v catalog.View) []tool.Fit {
	return s.fits.Get(v, func() []tool.Fit { return tool.Fits(v) })
}

func rootRowOf(status doctor.RootStatus, root catalog.RootStatus) rootRow {
	w := rootRow{RootStatus: status, Href: filter{Root: root.Label}.href(), URI: skill.Scheme, Late: root.Late()}
	if root.Prefix != "" {
		w.URI += root.Prefix + "/"
	}
	if len(w.Notices) > noticeRows {
		w.More, w.Notices = len(w.Notices)-noticeRows, w.Notices[:noticeRows]
	}
	if root.Publisher != nil {
		w.Publisher = *root.Publisher
	}
	return w
}

func skippedRowOf(e *catalog.Entry) skippedRow {
	w := skippedRow{Href: pageOf(e), Name: nameOf(e), Place: e.Place()}
	w.Reason, _ = e.SkipReason()
	if why, _ := doctor.HeldReason(e); why != "" {
		w.Held, w.Reason.Message = true, why
	}
	return w
}

// addCollision adds a skill to the collisions if another skill shadows it.
func (p *healthPage) addCollision(v catalog.View, e *catalog.Entry) {
	if e.Status != catalog.Shadowed && e.Status != catalog.Copy || len(p.Collisions) >= healthRows {
		return
	}
	p.Collisions = append(p.Collisions, collisionRow{
		pageOf(e), nameOf(e), e.Place(), v.Called(e), e.Status == catalog.Copy, relative{Href: pageOf(e.By), Place: e.By.Place()},
	})
}

// budgets computes the bars that show how the list fits each client.
func (p *healthPage) budgets(v catalog.View, fits []tool.Fit) {
	const width = 1000
	for _, f := range fits {
		b := budget{
			ShortHref: filter{Cut: cmp.Or(f.Client, othersKey)}.href(), LeftHref: filter{Left: cmp.Or(f.Client, othersKey)}.href(),
			Client: clientName(f.Client), Limit: f.Limit, Budget: f.Budget, Need: f.Need, Form: f.Form, Cut: f.Cut,
			Shortened: len(f.Shortened), ByName: len(f.ByName), Left: len(f.Left), All: len(v.Listed), ShortNames: namesOf(f.Shortened), LeftNames: namesOf(f.Left),
		}
		most := max(f.Budget, f.Need, 1)
		b.NeedWidth, b.BudgetWidth = f.Need*width/most, f.Budget*width/most
		b.LimitX = min(b.BudgetWidth, width-3)
		p.Budgets = append(p.Budgets, b)
	}
}

// heavy computes the bars of the skills that take most of the list.
func (p *healthPage) heavy(v catalog.View) {
	for _, e := range heaviest(v.Listed, 10) {
		w := heavyRow{pageOf(e), nameOf(e), charactersOf(e), 100}
		if len(p.Heavy) > 0 {
			w.Width = w.Characters * 100 / max(p.Heavy[0].Characters, 1)
		}
		p.Heavy = append(p.Heavy, w)
	}
}

// heaviest returns the n skills with the largest share of a list. The sort is stable.
func heaviest(entries []*catalog.Entry, n int) (most []*catalog.Entry) {
	sizes := make([]int, 0, n+1)
	for _, e := range entries {
		if len(most) == n && len(e.Name)+len(e.Description) <= sizes[n-1] {
			continue // a text never has more characters than bytes
		}
		size := charactersOf(e)
		if len(most) == n && size <= sizes[n-1] {
			continue
		}
		at := len(most)
		for at > 0 && sizes[at-1] < size {
			at--
		}
		most, sizes = slices.Insert(most, at, e), slices.Insert(sizes, at, size)
		most, sizes = most[:min(len(most), n)], sizes[:min(len(sizes), n)]
	}
	return most
}

// charactersOf returns the number of characters that a skill takes in a list.
func charactersOf(e *catalog.Entry) int {
	return utf8.RuneCountInString(e.Name) + utf8.RuneCountInString(e.Description)
}

type skippedPage struct {
	frame
	Skill skippedRow
	Scan  *scans.View // of a skill that is held back
}

// skipped shows why one skill is not served.
func (s *Site) skipped(r *request) error {
	v, err := s.view(r)
	if err != nil {
		return err
	}
	anchor := strings.TrimPrefix(r.URL.Path, "/health/")
	for _, e := range v.Skipped {
		if anchorOf(e) == anchor {
			d, err := s.checks.Verdict(r.Context(), v, e)
			if err != nil {
				return readFault(err)
			}
			w := skippedRowOf(e)
			w.Findings = findingsOf(d, nil)
			p := skippedPage{frame: s.frame(r, nameOf(e), "health"), Skill: w}
			if w.Held {
				p.Scan = s.scanView(v, e)
			}
			if p.Scan != nil { // the scan shows these findings
				p.Skill.Findings = slices.DeleteFunc(w.Findings, func(f finding) bool { return f.Kind == check.KindScan })
			}
			return s.render(r, http.StatusOK, "skipped", p)
		}
	}
	var unsure error
	if lacks := v.Unsure(); lacks != nil {
		unsure = lacks
	}
	return absent(unsure, "No skill is skipped under this address. It may have been fixed, moved or removed.")
}
