package judgement

import (
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
)

// Key identifies the findings that a [Tally] counts together.
type Key struct {
	Rule     skill.RuleID
	Severity skill.Severity
	Accepted bool // the operator accepts the findings: they count as infos, and in no lane
}

// KeyOf returns the key of a finding.
func KeyOf(f check.Finding) Key { return Key{f.Rule, f.Severity, f.Accepted != ""} }

// Tally counts the findings of a skill.
type Tally map[Key]int

// Tally counts the findings of the verdict.
func (d *Verdict) Tally() Tally {
	out := make(Tally, len(d.Findings))
	for _, f := range d.Findings {
		out[KeyOf(f)]++
	}
	return out
}

// ScanCount counts the scan findings of a view's skills that the operator does not accept. It
// counts at most 100 findings per skill.
type ScanCount struct {
	Enforce LaneCount `json:"enforce"`
	Review  LaneCount `json:"review"`
	// Unscanned is the number of skills that have not been scanned yet or cannot be scanned.
	Unscanned int `json:"unscanned,omitempty"`
}

// LaneCount counts the findings of a lane.
type LaneCount struct {
	Skills   int            `json:"skills"`
	Findings int            `json:"findings"`
	Rules    []skill.RuleID `json:"rules"` // sorted
}

// NewScanCount returns a count of zero skills.
func NewScanCount() ScanCount {
	return ScanCount{Enforce: LaneCount{Rules: []skill.RuleID{}}, Review: LaneCount{Rules: []skill.RuleID{}}}
}

// Add counts a skill. A skipped skill has nothing to scan, so it does not count as unscanned.
func (c *ScanCount) Add(d *Verdict, t Tally) {
	if !d.Whole && (d.Entry.Status != catalog.Skipped || d.Entry.HeldBack()) {
		c.Unscanned++
	}
	var found [2]bool
	for k, n := range t {
		if k.Accepted || !scan.IsRule(k.Rule) {
			continue
		}
		i, lane := 0, &c.Enforce
		if (check.Finding{Severity: k.Severity}).Lane() != scan.Enforce {
			i, lane = 1, &c.Review
		}
		if !found[i] {
			found[i], lane.Skills = true, lane.Skills+1
		}
		lane.Findings += n
		if at, ok := slices.BinarySearch(lane.Rules, k.Rule); !ok {
			lane.Rules = slices.Insert(lane.Rules, at, k.Rule)
		}
	}
}
