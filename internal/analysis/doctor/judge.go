package doctor

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/base/sorting"
	"github.com/knack-dev/knack/skill"
)

// Verdict has all findings about one skill in its place among the others, and describes its
// folder.
type Verdict struct {
	Entry *catalog.Entry
	// Report is the report of package check on the skill itself, with the findings about its
	// place: a name that another skill has, or a URI that does not end with the name.
	check.Report
	// Hidden are the first of its dot-entries, which are never served. NHidden is their
	// number. Left are the files that an interrupted knack left behind.
	Hidden  []string
	NHidden int
	Left    []string
	// Locked is what the lock of the folder says about it. Only [JudgeAll] and [Explain] ask.
	Locked catalog.Locked
}

const (
	// hiddenShown is the number of dot-entries of a skill that are named.
	hiddenShown = 5
	// hiddenCounted is the maximum number that is counted.
	hiddenCounted = 1000
)

// hiddenLister is a file system that can count what it does not show.
type hiddenLister interface {
	Hidden(ctx context.Context, limit int) ([]string, int, error)
}

// InPlace returns the verdict on a skill in its place, given the report on the skill itself.
// by is the position of the name in the SKILL.md of the skill that shadows it, if one does.
// The verdict has no dot-entries.
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
		sorting.Stable(d.Findings, func(a, b check.Finding) int {
			return cmp.Or(cmp.Compare(a.File, b.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column)
		})
	}
	return d
}

// Judge judges one skill as [check.Loaded] does. It reads the skill's files as they are now. If
// the context ends, the verdict lacks something.
func Judge(ctx context.Context, e *catalog.Entry) *Verdict { return JudgeBy(ctx, e, check.Loaded) }

// Checker judges a skill on its own: [check.Loaded], or [check.Scanned].
type Checker func(ctx context.Context, s *skill.Skill) check.Report

// JudgeBy judges one skill by a checker. See [Judge].
func JudgeBy(ctx context.Context, e *catalog.Entry, by Checker) *Verdict {
	var at skill.Position
	if e.By != nil {
		data, _, _ := e.By.Read()
		at = check.NamePosition(data)
	}
	d := InPlace(e, by(ctx, e.Skill), at)
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

// Unpublished lists the findings that keep an available skill out of the Skills extension's
// lists. It lists none for a published, skipped or unlisted skill.
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

// Add counts one finding.
func (s *Severities) Add(severity skill.Severity) { *s.of(severity)++ }

func (s *Severities) of(severity skill.Severity) *int {
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
	Severities
	// Published reports whether the Skills extension's lists have the skill.
	Published bool
	Held      bool // the operator's policy holds it back; its status is skipped
}

// Summary returns the verdict in numbers.
func (d *Verdict) Summary() Summary {
	s := Summary{Status: d.Entry.Status, Published: d.Publishable() && d.Entry.Status != catalog.Unlisted, Held: d.Entry.HeldBack()}
	for _, f := range d.Findings {
		s.Add(f.Severity)
	}
	return s
}

// State is the state of a skill in one word.
type State string

// The states. A shadowed or unlisted skill has that state even if it has findings, since
// its author has to know of its name first.
const (
	Fine     State = "fine"     // served, without an error or a warning
	Problems State = "problems" // served, with an error or a warning
	Shadowed State = "shadowed" // served, under another name than its own
	Unlisted State = "unlisted" // served by its name but in no list, since its root is excluded
	Skipped  State = "skipped"  // not served, because of a fault
	Held     State = "held"     // not served, because of the operator's policy
)

// State returns the state of the skill.
func (s Summary) State() State {
	switch s.Status {
	case catalog.Skipped:
		if s.Held {
			return Held
		}
		return Skipped
	case catalog.Shadowed, catalog.Copy:
		return Shadowed
	case catalog.Unlisted:
		return Unlisted
	}
	if s.Errors+s.Warnings > 0 {
		return Problems
	}
	return Fine
}

// Count is a number of skills and problems.
type Count struct {
	Skills      int `json:"skills"` // found, in any status
	Available   int `json:"available"`
	Shadowed    int `json:"shadowed"`
	Copies      int `json:"copies"`
	Unlisted    int `json:"unlisted"`
	Skipped     int `json:"skipped"` // without those that are held back
	Held        int `json:"held"`
	Publishable int `json:"publishable"`
	// Fine and Problems are the available skills by [State].
	Fine     int `json:"fine"`
	Problems int `json:"problems"`
	// Severities count the findings about skills and the notices of a scan.
	Severities
	Notices int `json:"notices"` // also included in the severities
}

// CountOf counts the judged skills of a view and the notices of its scan.
func CountOf(v catalog.View, all []*Verdict) Count {
	c := CountNotices(v)
	for _, d := range all {
		c.Add(d.Summary())
	}
	return c
}

// CountNotices counts the notices of a view's scan.
func CountNotices(v catalog.View) (c Count) {
	for _, r := range v.Roots {
		for _, n := range r.Notices {
			c.Notices++
			c.Severities.Add(check.OfNotice(n).Severity)
		}
	}
	return c
}

// Add counts one skill and its findings.
func (c *Count) Add(s Summary) {
	c.Skills++
	switch s.Status {
	case catalog.Available:
		c.Available++
	case catalog.Shadowed:
		c.Shadowed++
	case catalog.Copy:
		c.Copies++
	case catalog.Unlisted:
		c.Unlisted++
	case catalog.Skipped:
		if s.Held {
			c.Held++
		} else {
			c.Skipped++
		}
	}
	if s.Published {
		c.Publishable++
	}
	switch s.State() {
	case Fine:
		c.Fine++
	case Problems:
		c.Problems++
	}
	c.Errors += s.Errors
	c.Warnings += s.Warnings
	c.Infos += s.Infos
}
