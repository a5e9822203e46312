package doctor

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// scanned returns the findings of a scan of a skill in one lane.
func scanned(d *judgement.Verdict, lane scan.Lane) (out []check.Finding) {
	for _, f := range d.Findings {
		if f.Kind() == check.KindScan && f.Lane() == lane {
			out = append(out, f)
		}
	}
	return out
}

// printScans prints the counts, and where each finding is shown.
func (r *Report) printScans(p *console.Printer) {
	if r.Scan.Enforce.Findings+r.Scan.Review.Findings+r.Scan.Unscanned == 0 {
		return
	}
	p.Line("what a scan found; knack scan NAME shows it line by line")
	for _, l := range []struct {
		what string
		judgement.LaneCount
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

// scanLine summarises the scan of one skill, or says that it was not scanned.
func (r *Report) scanLine(d *judgement.Verdict) string {
	if !d.Whole {
		return map[bool]string{false: "not scanned"}[d.Entry.Status == catalog.Skipped]
	}
	var parts []string
	var rules []skill.RuleID
	for _, lane := range []scan.Lane{scan.Enforce, scan.Review} {
		found := scanned(d, lane)
		if len(found) > 0 {
			parts = append(parts, display.Count(len(found), "finding")+" to "+string(lane))
		}
		for _, f := range found {
			if !slices.Contains(rules, f.Rule) {
				rules = append(rules, f.Rule)
			}
		}
	}
	if len(parts) == 0 {
		return "no finding"
	}
	e := d.Entry
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

// heldBecause precedes each reason for holding back a skill.
const heldBecause = "held back: "

// HeldReason returns why the operator's policy holds a skill back, without the prefix that says
// so, and the fix. Both are "" if the skill is not held back.
func HeldReason(e *catalog.Entry) (why, fix string) {
	p, _ := e.SkipReason()
	if p.Rule != frontmatter.HeldBack {
		return "", ""
	}
	return strings.TrimPrefix(p.Message, heldBecause), p.Fix
}

// HeldBack is the JSON form of the reason for which the operator's policy holds a skill back.
type HeldBack struct {
	Reason string `json:"reason"`
	Fix    string `json:"fix,omitempty"`
}

// HeldBackOf returns why the operator's policy holds a skill back, or nil if it does not.
func HeldBackOf(e *catalog.Entry) *HeldBack {
	if why, fix := HeldReason(e); why != "" {
		return &HeldBack{why, fix}
	}
	return nil
}

// SplitSkipped separates the skipped skills from the held-back ones.
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
