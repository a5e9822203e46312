// Package judgement judges skills.
//
// All verdicts on skills come from this package. A verdict combines the format problems of package
// check, the findings of package scan, and the conflicts of the skill with other skills. Commands,
// pages and the API print verdicts and count them. Only knack scan prints reports of package scan
// directly, since it also accepts skills outside the catalogue.
package judgement

import (
	"context"
	"path"
	"runtime"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Verdict contains all findings about one skill, including its conflicts with other skills. It also
// describes the skill's folder.
type Verdict struct {
	Entry *catalog.Entry
	// Report is the report of package check on the skill itself. A verdict adds the findings about
	// conflicts: a name that another skill has, or a URI that does not end with the name.
	check.Report
	// Hidden lists the first dot-entries of the skill, which are never served. NHidden is the
	// number of all dot-entries. Left lists the files that an interrupted knack left behind.
	Hidden  []string
	NHidden int
	Left    []string
	// Locked is the state of the skill compared with the lock of its folder. [Judge.Of] does not
	// set it.
	Locked catalog.Locked
}

const (
	// hiddenShown limits the dot-entries of a skill that a verdict lists.
	hiddenShown = 5
	// hiddenCounted limits the dot-entries that are counted.
	hiddenCounted = 1000
)

// hiddenLister is a file system that can count its hidden entries.
type hiddenLister interface {
	Hidden(ctx context.Context, limit int) ([]string, int, error)
}

// InPlace returns the verdict on a skill, given the report on the skill itself. It adds the
// findings about conflicts with other skills. If another skill shadows the skill, by is the
// position of the name in the other skill's SKILL.md. The verdict lacks the dot-entries.
func InPlace(e *catalog.Entry, own check.Report, by skill.Position) *Verdict {
	d := &Verdict{Entry: e, Report: own}
	d.Findings = slices.Clip(d.Findings)
	if e.By != nil {
		d.Findings = append(d.Findings, check.Duplicate(own, check.Place{File: e.By.Place(), Position: by}, e.Status == catalog.Copy))
	}
	if e.Status != catalog.Skipped && skill.ValidName(e.Name) && !e.IsNamedByURI() {
		d.Findings = append(d.Findings, check.URIName(e.Skill, e.URI()))
	}
	if len(d.Findings) > len(own.Findings) {
		check.Sort(d.Findings)
	}
	return d
}

// Judge judges skills. The zero Judge uses the rules unchanged.
type Judge struct {
	// Lanes holds the lanes that the operator sets for rules of package scan.
	Lanes map[skill.RuleID]scan.Lane
	// Known, if not nil, returns a scan report on exactly the served bytes of a skill, or nil. A
	// held-back skill is not scanned again, so this report is the only one on its contents.
	Known func(*catalog.Entry) *scan.Report
	// Accepted, if not nil, returns the reason for which the operator accepts a rule's findings in
	// a skill, or "".
	Accepted func(ctx context.Context, e *catalog.Entry, rule skill.RuleID) string
	// Quick judges only the format, unless Known returns a report. The verdict is then not whole.
	Quick bool
}

// Own judges a skill without regard to other skills. It reads the present state of the skill's
// files. It never fails: a file that it cannot read becomes a finding. If the context ends, the
// report is incomplete. The report does not contain the fault that the operator's policy holds the
// skill back, since that is a consequence of other findings.
func (j Judge) Own(ctx context.Context, e *catalog.Entry) check.Report {
	r := j.report(ctx, e)
	r.Findings = slices.DeleteFunc(r.Findings, func(f check.Finding) bool { return f.Rule == frontmatter.HeldBack })
	accepted := map[skill.RuleID]string{} // Accepted reads the files of the skill, so it is called once per rule
	for i := range r.Findings {
		if f := &r.Findings[i]; j.Accepted != nil && f.Kind() == check.KindScan && scan.MayHoldBack(f.Rule, f.Lane()) {
			why, ok := accepted[f.Rule]
			if !ok {
				why = j.Accepted(ctx, e, f.Rule)
				accepted[f.Rule] = why
			}
			if f.Accepted = why; why != "" {
				f.Severity = skill.SeverityInfo
			}
		}
	}
	return r
}

func (j Judge) report(ctx context.Context, e *catalog.Entry) check.Report {
	var known *scan.Report
	if j.Known != nil {
		known = j.Known(e)
	}
	switch {
	case known != nil:
		return check.Known(ctx, e.Skill, *known)
	case skill.IsWithheld(e.Fault()) || j.Quick && e.Root.Scope != skill.ScopeBuiltin:
		return check.Format(ctx, e.Skill)
	}
	return check.Skill(ctx, e.Skill, scan.Options{Lanes: j.Lanes})
}

// Of judges one skill, and adds the findings about conflicts with other skills. See [Judge.Own].
func (j Judge) Of(ctx context.Context, e *catalog.Entry) *Verdict {
	var at skill.Position
	if e.By != nil {
		data, _, _ := e.By.Read()
		at = check.NamePosition(data)
	}
	d := InPlace(e, j.Own(ctx, e), at)
	if h, ok := e.FS.(hiddenLister); ok {
		d.Hidden, d.NHidden, _ = h.Hidden(ctx, hiddenCounted)
		for _, p := range d.Hidden {
			if edit.IsTemporary(path.Base(p)) {
				d.Left = append(d.Left, p)
			}
		}
		d.Hidden = d.Hidden[:min(len(d.Hidden), hiddenShown)]
	}
	return d
}

// All judges every skill of a view concurrently, and returns the verdicts in the order of the
// entries. It counts the skills in the context's [skill.Progress]. The only error is the context's.
func (j Judge) All(ctx context.Context, v catalog.View) ([]*Verdict, error) {
	all := make([]*Verdict, len(v.Entries))
	progress := skill.Progress(ctx)
	limit.Parallel(2*runtime.GOMAXPROCS(0), len(all), func(i int) {
		if ctx.Err() != nil {
			return
		}
		all[i] = j.Of(ctx, v.Entries[i])
		all[i].Locked = v.Locked(ctx, v.Entries[i])
		progress.Add(1)
	})
	return all, ctx.Err()
}

// Unpublished returns the findings that keep an available skill out of the Skills extension's
// lists. It returns none for a published, skipped or unlisted skill.
func (d *Verdict) Unpublished() (out []check.Finding) {
	if !d.Skill.Available || d.Entry.Status == catalog.Unlisted {
		return nil
	}
	for _, f := range d.Findings {
		if check.Unpublishes(f.Rule) {
			out = append(out, f)
		}
	}
	return out
}

// Severities counts findings by their severity.
type Severities struct {
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
}

// add counts one finding.
func (s *Severities) add(severity skill.Severity) { *s.Of(severity)++ }

// Merge adds the counts of o.
func (s *Severities) Merge(o Severities) {
	s.Errors, s.Warnings, s.Infos = s.Errors+o.Errors, s.Warnings+o.Warnings, s.Infos+o.Infos
}

// Of returns the counter of a severity.
func (s *Severities) Of(severity skill.Severity) *int {
	switch severity {
	case skill.SeverityError:
		return &s.Errors
	case skill.SeverityWarning:
		return &s.Warnings
	}
	return &s.Infos
}

// Summary is a verdict in numbers.
type Summary struct {
	Status catalog.Status
	// Severities count all findings, and Scan the findings of package scan that are not accepted.
	Severities
	Scan Severities
	// Judged is set if the contents were judged, not only the format.
	Judged bool
	// Published is set if the Skills extension's lists contain the skill.
	Published bool
	Held      bool // the operator's policy holds the skill back; its status is skipped
}

// Summary returns the state of the skill and the numbers of its findings.
func (d *Verdict) Summary() Summary {
	s := Summary{Status: d.Entry.Status, Published: d.Publishable() && d.Entry.Status != catalog.Unlisted, Held: d.Entry.HeldBack(), Judged: d.Whole}
	for _, f := range d.Findings {
		s.Add(KeyOf(f), 1)
	}
	return s
}

// Add counts n findings.
func (s *Summary) Add(k Key, n int) {
	*s.Severities.Of(k.Severity) += n
	if !k.Accepted && scan.IsRule(k.Rule) {
		*s.Scan.Of(k.Severity) += n
	}
}

// State is the state of a skill in one word.
type State string

// The states. A shadowed or unlisted skill keeps that state even if it has findings, since its
// author must first learn about the name.
const (
	Fine     State = "fine"     // served, without an error or a warning
	Problems State = "problems" // served, with an error or a warning
	Shadowed State = "shadowed" // served under another name than its own
	Copied   State = "copied"   // served, with the same bytes as the skill that has its name
	Unlisted State = "unlisted" // served by its name but in no list, since its root is excluded
	Skipped  State = "skipped"  // not served, because of a fault
	Held     State = "held"     // not served, because of the operator's policy
	// NotJudged is the state of a served skill whose format has no error or warning and whose
	// contents were not judged.
	NotJudged State = "not judged"
)

// State returns the state of the skill.
func (s Summary) State() State {
	switch s.Status {
	case catalog.Skipped:
		if s.Held {
			return Held
		}
		return Skipped
	case catalog.Shadowed:
		return Shadowed
	case catalog.Copy:
		return Copied
	case catalog.Unlisted:
		return Unlisted
	}
	if s.Errors+s.Warnings > 0 {
		return Problems
	}
	if !s.Judged {
		return NotJudged
	}
	return Fine
}

// Statuses counts skills by status.
type Statuses struct {
	Skills    int `json:"skills"` // found, in any status
	Available int `json:"available"`
	Shadowed  int `json:"shadowed"`
	Copies    int `json:"copies"`
	Unlisted  int `json:"unlisted"`
	Skipped   int `json:"skipped"` // without held-back skills
	Held      int `json:"held"`
}

// StatusesOf counts the skills of a view by status.
func StatusesOf(v catalog.View) (s Statuses) {
	if v.Snapshot == nil {
		return s
	}
	s.Skills = len(v.Entries)
	for _, e := range v.Entries {
		switch {
		case e.HeldBack():
			s.Held++
		case e.Status == catalog.Available:
			s.Available++
		case e.Status == catalog.Shadowed:
			s.Shadowed++
		case e.Status == catalog.Copy:
			s.Copies++
		case e.Status == catalog.Unlisted:
			s.Unlisted++
		case e.Status == catalog.Skipped:
			s.Skipped++
		}
	}
	return s
}

// Part is the number of skills in one state.
type Part struct {
	N     int
	State State
}

// Word returns the word for the state, to print after the number.
func (p Part) Word() string {
	if p.State == Held {
		return "held back"
	}
	return string(p.State)
}

// Unavailable counts the skills that are not available, by state. It omits the states that no skill
// has.
func (s Statuses) Unavailable() []Part {
	parts := []Part{{s.Shadowed, Shadowed}, {s.Copies, Copied}, {s.Unlisted, Unlisted}, {s.Skipped, Skipped}, {s.Held, Held}}
	return slices.DeleteFunc(parts, func(p Part) bool { return p.N == 0 })
}

// Count contains the numbers of skills and of problems in a view.
type Count struct {
	Statuses
	Publishable int `json:"publishable"`
	// Fine, Problems and NotJudged count the available skills by [State].
	Fine      int `json:"fine"`
	Problems  int `json:"problems"`
	NotJudged int `json:"notJudged,omitempty"`
	// Severities counts the findings about skills and the notices of roots. Scan counts only the
	// findings of package scan. Both are nil, and absent from the JSON form, unless the contents of
	// every available skill were judged: otherwise the numbers are unknown.
	*Severities
	Scan    *Severities `json:"scan,omitempty"`
	Notices int         `json:"notices"` // also included in the severities
}

// CountOf counts the skills of a view, the notices of its scan, and the findings of the given
// verdicts.
func CountOf(v catalog.View, all []*Verdict) Count {
	c := Count{Statuses: StatusesOf(v), Severities: &Severities{}, Scan: &Severities{}}
	for _, r := range v.Roots {
		for _, n := range r.Notices {
			c.Notices++
			c.Severities.add(check.OfNotice(n).Severity)
		}
	}
	for _, d := range all {
		c.Add(d.Summary())
	}
	if c.NotJudged > 0 {
		c.Severities, c.Scan = nil, nil
	}
	return c
}

// Add counts the verdict on a skill whose status is already counted.
func (c *Count) Add(s Summary) {
	if s.Published {
		c.Publishable++
	}
	switch s.State() {
	case Fine:
		c.Fine++
	case Problems:
		c.Problems++
	case NotJudged:
		c.NotJudged++
	}
	c.Severities.Merge(s.Severities)
	c.Scan.Merge(s.Scan)
}
