package checks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
)

// Rule counts the findings of one rule.
type Rule struct {
	ID               skill.RuleID
	Kind             check.Kind
	Severity         skill.Severity // the highest of its findings
	Title            string
	Skills, Findings int
	Of               map[*catalog.Entry]bool
}

// Lane returns the lane of the findings of a rule of package scan.
func (r *Rule) Lane() scan.Lane { return check.Finding{Severity: r.Severity}.Lane() }

// ruled counts findings of a skill.
func (t *Totals) ruled(e *catalog.Entry, k judgement.Key, n int) {
	r := t.Rules[k.Rule]
	if r == nil {
		r = &Rule{ID: k.Rule, Kind: check.Finding{Rule: k.Rule}.Kind(), Severity: k.Severity, Of: map[*catalog.Entry]bool{}}
		if rule, ok := check.RuleOf(k.Rule); ok {
			r.Title = rule.Title
		}
		t.Rules[k.Rule] = r
	}
	if rank(k.Severity) < rank(r.Severity) {
		r.Severity = k.Severity
	}
	r.Of[e] = true
	r.Skills, r.Findings = len(r.Of), r.Findings+n
}

// rank orders severities, the worst first.
func rank(s skill.Severity) int {
	return slices.Index([]skill.Severity{skill.SeverityError, skill.SeverityWarning, skill.SeverityInfo}, s)
}

// ByRule returns the counts of the rules, sorted by severity, then by the number of skills.
func (t *Totals) ByRule() (all []*Rule) {
	for _, r := range t.Rules {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Rule) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), b.Skills-a.Skills, strings.Compare(string(a.ID), string(b.ID)))
	})
	return all
}
