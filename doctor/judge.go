package doctor

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/edit"
	"github.com/knack-dev/knack/skill"
)

// Verdict is everything that is known to be wrong with one skill in its place among the
// others, and what its folder holds.
type Verdict struct {
	Entry *catalog.Entry
	// Report is what check says of the skill by itself, with the findings that come of
	// its place: a name that another skill has, a URI without the name.
	check.Report
	// Hidden are the first of its dot-entries, which are never served; NHidden is how
	// many there are. Left are the files that an interrupted knack left behind.
	Hidden  []string
	NHidden int
	Left    []string
}

const (
	// hiddenShown is how many dot-entries of a skill are named.
	hiddenShown = 5
	// hiddenSeen is how many are looked at.
	hiddenSeen = 1000
)

// hider is a file system that can count what it does not show.
type hider interface {
	Hidden(ctx context.Context, limit int) ([]string, int, error)
}

// InPlace is the verdict on a skill in its place, given what check says of it by itself,
// and where the SKILL.md of the skill that shadows it has its name, if one does. It does
// not look for dot-entries.
func InPlace(e *catalog.Entry, alone check.Report, by skill.Position) *Verdict {
	d := &Verdict{Entry: e, Report: alone}
	d.Findings = slices.Clip(d.Findings)
	if e.By != nil {
		d.Findings = append(d.Findings, check.Duplicate(alone, check.Place{File: e.By.Place(), Position: by}, e.Status == catalog.Copy))
	}
	if e.Status != catalog.Skipped && skill.ValidName(e.Name) && path.Base(e.Base()) != e.Name {
		d.Findings = append(d.Findings, check.URIName(e.Skill, e.URI()))
	}
	if len(d.Findings) > len(alone.Findings) {
		slices.SortStableFunc(d.Findings, func(a, b check.Finding) int {
			return cmp.Or(cmp.Compare(a.File, b.File), a.Position.Line-b.Position.Line, a.Position.Column-b.Position.Column)
		})
	}
	return d
}

// Judge judges one skill. It reads the skill's files as they are now. If the context
// ends, the verdict lacks something.
func Judge(ctx context.Context, e *catalog.Entry) *Verdict {
	var by skill.Position
	if e.By != nil {
		data, _, _ := e.By.Read()
		by = check.NamePosition(data)
	}
	d := InPlace(e, check.Loaded(ctx, e.Skill), by)
	if h, ok := e.FS.(hider); ok {
		d.Hidden, d.NHidden, _ = h.Hidden(ctx, hiddenSeen)
		for _, p := range d.Hidden {
			if edit.IsTemporary(path.Base(p)) {
				d.Left = append(d.Left, p)
			}
		}
		d.Hidden = d.Hidden[:min(len(d.Hidden), hiddenShown)]
	}
	return d
}

// Unpublished lists the findings that keep an available skill out of the Skills
// extension's lists; none if it is published, skipped or, as in every list, unlisted.
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

// Published reports whether the Skills extension's lists have the skill.
func (d *Verdict) Published() bool {
	return d.Publishable() && d.Entry.Status != catalog.Unlisted
}

// Severe counts the findings that are errors or warnings.
func (d *Verdict) Severe() (errors, warnings int) {
	for _, f := range d.Findings {
		switch f.Severity {
		case skill.SeverityError:
			errors++
		case skill.SeverityWarning:
			warnings++
		}
	}
	return errors, warnings
}

// State is how a skill fares, in one word.
type State string

// The states. A skill that another one shadows has no other state, whatever is wrong
// with it: its author is told of the name first.
const (
	Fine     State = "fine"     // served, without an error or a warning
	Problems State = "problems" // served, with an error or a warning
	Shadowed State = "shadowed" // served, under another name than its own
	Unlisted State = "unlisted" // served by its name, in no list: its root is excluded
	Skipped  State = "skipped"  // not served
)

// State is how the skill fares.
func (d *Verdict) State() State {
	errors, warnings := d.Severe()
	switch d.Entry.Status {
	case catalog.Skipped:
		return Skipped
	case catalog.Shadowed, catalog.Copy:
		return Shadowed
	case catalog.Unlisted:
		return Unlisted
	}
	if errors+warnings > 0 {
		return Problems
	}
	return Fine
}

// Count is how many skills and problems there are.
type Count struct {
	Skills      int `json:"skills"` // found, in any status
	Available   int `json:"available"`
	Shadowed    int `json:"shadowed"`
	Copies      int `json:"copies"`
	Unlisted    int `json:"unlisted"`
	Skipped     int `json:"skipped"`
	Publishable int `json:"publishable"`
	// Fine and Problems are the available skills by [State].
	Fine     int `json:"fine"`
	Problems int `json:"problems"`
	// The findings about skills, and the notices of a scan, by their severity.
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	Notices  int `json:"notices"` // of which so many are about what a scan met
}

// CountOf counts the skills of a view, which were judged, and what its scan met.
func CountOf(v catalog.View, all []*Verdict) (c Count) {
	for _, d := range all {
		c.Add(d)
	}
	for _, r := range v.Roots {
		for _, n := range r.Notices {
			c.AddNotice(n)
		}
	}
	return c
}

// Add counts one skill and its findings.
func (c *Count) Add(d *Verdict) {
	c.Skills++
	switch d.Entry.Status {
	case catalog.Available:
		c.Available++
	case catalog.Shadowed:
		c.Shadowed++
	case catalog.Copy:
		c.Copies++
	case catalog.Unlisted:
		c.Unlisted++
	case catalog.Skipped:
		c.Skipped++
	}
	if d.Published() {
		c.Publishable++
	}
	switch d.State() {
	case Fine:
		c.Fine++
	case Problems:
		c.Problems++
	}
	for _, f := range d.Findings {
		c.add(f.Severity)
	}
}

// AddNotice counts what a scan met.
func (c *Count) AddNotice(n skill.Notice) {
	c.Notices++
	rule, _ := check.RuleOf(n.Rule)
	c.add(rule.Severity)
}

func (c *Count) add(severity skill.Severity) {
	switch severity {
	case skill.SeverityError:
		c.Errors++
	case skill.SeverityWarning:
		c.Warnings++
	default:
		c.Infos++
	}
}
