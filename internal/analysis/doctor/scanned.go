package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// HeldBecause precedes each reason for holding back a skill.
const HeldBecause = "held back: "

// HeldReason returns the reason why the operator's policy holds a skill back, and the fix. The
// reason lacks the prefix [HeldBecause]. Both are "" if the skill is not held back.
func HeldReason(e *catalog.Entry) (why, fix string) {
	p, _ := e.SkipReason()
	if p.Rule != frontmatter.HeldBack {
		return "", ""
	}
	return strings.TrimPrefix(p.Message, HeldBecause), p.Fix
}

// HeldBack is the JSON form of the reason why the operator's policy holds a skill back.
type HeldBack struct {
	Reason string `json:"reason"`
	Fix    string `json:"fix,omitempty"`
}

// HeldBackOf returns the reason why the operator's policy holds a skill back, or nil.
func HeldBackOf(e *catalog.Entry) *HeldBack {
	if why, fix := HeldReason(e); why != "" {
		return &HeldBack{why, fix}
	}
	return nil
}

// AcceptedIn returns the rules whose findings the operator accepts in a skill. Each rule is
// followed by the reason and the place of that reason in the settings.
func AcceptedIn(d *judgement.Verdict) (out []string) {
	for _, f := range d.Findings {
		if line := fmt.Sprintf("%s, %s", f.Rule, display.OneLine(f.Accepted)); f.Accepted != "" && !slices.Contains(out, line) {
			out = append(out, line)
		}
	}
	return out
}

// SplitSkipped separates the skipped skills from the held-back ones.
func SplitSkipped(v catalog.View) (skipped, heldBack []*catalog.Entry) {
	if v.Snapshot == nil {
		return nil, nil
	}
	for _, e := range v.Skipped {
		if e.HeldBack() {
			heldBack = append(heldBack, e)
		} else {
			skipped = append(skipped, e)
		}
	}
	return skipped, heldBack
}

// ScanFinding is the JSON form of a finding of a scan.
type ScanFinding struct {
	Rule    skill.RuleID `json:"rule"`
	Lane    scan.Lane    `json:"lane"`
	File    string       `json:"file"` // path in the skill; a secret in it is masked
	Line    int          `json:"line,omitempty"`
	Column  int          `json:"column,omitempty"`
	Length  int          `json:"length,omitempty"` // in characters
	Message string       `json:"message"`
	Notes   []string     `json:"notes,omitempty"`
	Fix     string       `json:"fix,omitempty"`
	Text    string       `json:"text"` // the digest of the text at which the rule fires
}

// ScanFindings returns the JSON form of findings.
func ScanFindings(all []scan.Finding) []ScanFinding {
	out := []ScanFinding{}
	for _, f := range all {
		out = append(out, ScanFinding{f.Rule, f.Lane, scan.MaskSecrets(f.File), f.Position.Line, f.Position.Column, f.Length, f.Message, f.Notes, f.Fix, f.Text.String()})
	}
	return out
}
