package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/sorting"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Scanned counts what a scan found in a skill.
type Scanned struct {
	Enforce, Review int     // findings of each lane
	Rules           []Found // of the findings that the report lists
}

// Found counts the findings of one rule in one lane.
type Found struct {
	Rule     skill.RuleID
	Lane     scan.Lane
	Findings int
}

// ScannedOf counts the findings of a report. A nil report has none.
func ScannedOf(r *scan.Report) (s Scanned) {
	if r == nil {
		return s
	}
	s.Enforce, s.Review = r.Enforce, r.Review
	for _, f := range r.Findings {
		i := slices.IndexFunc(s.Rules, func(o Found) bool { return o.Rule == f.Rule && o.Lane == f.Lane })
		if i < 0 {
			i, s.Rules = len(s.Rules), append(s.Rules, Found{Rule: f.Rule, Lane: f.Lane})
		}
		s.Rules[i].Findings++
	}
	sorting.Func(s.Rules, func(a, b Found) int { return cmp.Or(cmp.Compare(a.Lane, b.Lane), cmp.Compare(a.Rule, b.Rule)) })
	return s
}

// ScanCount counts what scans found in the skills of a view.
type ScanCount struct {
	Enforce LaneCount `json:"enforce"`
	Review  LaneCount `json:"review"`
	// Unscanned is the number of skills that are not scanned yet.
	Unscanned int `json:"unscanned,omitempty"`
}

// LaneCount counts the findings of a lane.
type LaneCount struct {
	Skills   int            `json:"skills"`
	Findings int            `json:"findings"`
	Rules    []skill.RuleID `json:"rules"` // sorted
}

// Add counts one skill.
func (c *ScanCount) Add(s Scanned) {
	for lane, n := range map[scan.Lane]int{scan.Enforce: s.Enforce, scan.Review: s.Review} {
		if l := c.lane(lane); n > 0 {
			l.Skills, l.Findings = l.Skills+1, l.Findings+n
		}
	}
	for _, f := range s.Rules {
		l := c.lane(f.Lane)
		if at, ok := slices.BinarySearch(l.Rules, f.Rule); !ok {
			l.Rules = slices.Insert(l.Rules, at, f.Rule)
		}
	}
}

func (c *ScanCount) lane(lane scan.Lane) *LaneCount {
	if lane == scan.Enforce {
		return &c.Enforce
	}
	return &c.Review
}

// CountScans counts what scans found in the skills of a view. of returns what is known of one; ok is
// false if it is not scanned. Skills that are built in are not scanned, and not counted.
func CountScans(v catalog.View, of func(*catalog.Entry) (s Scanned, ok bool)) (c ScanCount) {
	c.Enforce.Rules, c.Review.Rules = []skill.RuleID{}, []skill.RuleID{}
	for _, e := range v.Entries {
		s, ok := of(e)
		switch {
		case ok:
			c.Add(s)
		case e.Root.Scope != skill.ScopeBuiltin && !(e.Status == catalog.Skipped && !e.HeldBack()):
			c.Unscanned++
		}
	}
	return c
}

// printScans prints the counts, and where each finding is shown.
func (r *Report) printScans(p *console.Printer) {
	if r.Scan == nil {
		return
	}
	p.Line("what a scan found; knack scan NAME shows it line by line")
	for _, l := range []struct {
		what string
		LaneCount
	}{{"to enforce", r.Scan.Enforce}, {"to review", r.Scan.Review}} {
		if l.Findings == 0 {
			p.Line("  %s: nothing", l.what)
			continue
		}
		p.Item(4, "  %s: %s in %s: %s", l.what, display.Count(l.Findings, "finding"), display.Count(l.Skills, "skill"), ruleNames(l.Rules))
	}
	if n := r.Scan.Unscanned; n > 0 {
		p.Line("  not scanned: %s", display.Count(n, "skill"))
	}
}

// scanLine says what a scan found in one skill, or "" if nothing is known.
func (r *Report) scanLine(e *catalog.Entry) string {
	if r.o.Scanned == nil {
		return ""
	}
	s, ok := r.o.Scanned(e)
	if !ok {
		return ""
	}
	var parts []string
	var rules []skill.RuleID
	for _, f := range s.Rules {
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	if s.Enforce > 0 {
		parts = append(parts, display.Count(s.Enforce, "finding")+" to enforce")
	}
	if s.Review > 0 {
		parts = append(parts, display.Count(s.Review, "finding")+" to review")
	}
	if len(parts) == 0 {
		return "no finding"
	}
	target := display.OneLine(cmp.Or(e.Name, e.Folder()))
	if e.Dir() != "" {
		target = display.OneLine(r.o.Shown(e.Dir()))
	}
	return strings.Join(parts, ", ") + ": " + ruleNames(rules) + "; knack scan " + target + " shows each"
}

func ruleNames(ids []skill.RuleID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = string(id)
	}
	return strings.Join(names, ", ")
}

// heldBecause is in front of each reason why a skill is held back.
const heldBecause = "held back: "

// HeldReason returns why the operator's policy holds a skill back, without the words that say that
// it does, and what to do. Both are "" if it does not.
func HeldReason(e *catalog.Entry) (why, fix string) {
	p, _ := e.SkipReason()
	if p.Rule != frontmatter.HeldBack {
		return "", ""
	}
	return strings.TrimPrefix(p.Message, heldBecause), p.Fix
}

// SplitSkipped parts the skipped skills from those that are held back.
func SplitSkipped(v catalog.View) (skipped, held []*catalog.Entry) {
	if v.Snapshot == nil {
		return nil, nil
	}
	for _, e := range v.Skipped {
		if e.HeldBack() {
			held = append(held, e)
		} else {
			skipped = append(skipped, e)
		}
	}
	return skipped, held
}

// ScanFinding is the JSON form of a finding of a scan.
type ScanFinding struct {
	Rule    skill.RuleID `json:"rule"`
	Lane    scan.Lane    `json:"lane"`
	File    string       `json:"file"` // in the skill; a secret in its name is cut
	Line    int          `json:"line,omitempty"`
	Column  int          `json:"column,omitempty"`
	Length  int          `json:"length,omitempty"` // in characters
	Message string       `json:"message"`
	Notes   []string     `json:"notes,omitempty"`
	Fix     string       `json:"fix,omitempty"`
	Text    string       `json:"text"` // the digest of the text that fires
}

// ScanFindings returns the JSON form of findings.
func ScanFindings(all []scan.Finding) []ScanFinding {
	out := []ScanFinding{}
	for _, f := range all {
		out = append(out, ScanFinding{f.Rule, f.Lane, scan.MaskSecrets(f.File), f.Position.Line, f.Position.Column, f.Length, f.Message, f.Notes, f.Fix, f.Text.String()})
	}
	return out
}
