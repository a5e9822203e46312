package checks

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/skill"
)

// kind is what findings have in common that a count puts together.
type kind struct {
	rule     skill.RuleID
	severity skill.Severity
}

// Rule counts the findings of one rule.
type Rule struct {
	ID               skill.RuleID
	Severity         skill.Severity // the highest of its findings
	Title            string
	Skills, Findings int
	Of               map[*catalog.Entry]bool
}

// ruled counts findings of a skill.
func (t *Totals) ruled(e *catalog.Entry, k kind, n int) {
	r := t.Rules[k.rule]
	if r == nil {
		r = &Rule{ID: k.rule, Severity: k.severity, Of: map[*catalog.Entry]bool{}}
		if rule, ok := check.RuleOf(k.rule); ok {
			r.Title = rule.Title
		}
		t.Rules[k.rule] = r
	}
	if rank(k.severity) < rank(r.Severity) {
		r.Severity = k.severity
	}
	r.Of[e] = true
	r.Skills, r.Findings = len(r.Of), r.Findings+n
}

// rank orders severities, the worst first.
func rank(s skill.Severity) int {
	return slices.Index([]skill.Severity{skill.SeverityError, skill.SeverityWarning, skill.SeverityInfo}, s)
}

// ByRule returns the counts of the rules, the worst first, then those of the most skills.
func (t *Totals) ByRule() (all []*Rule) {
	for _, r := range t.Rules {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *Rule) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), b.Skills-a.Skills, strings.Compare(string(a.ID), string(b.ID)))
	})
	return all
}

// dropped counts the findings of a skill that are not kept.
type dropped map[kind]int

// severities returns the counts by severity alone.
func (d dropped) severities() (sum doctor.Severities) {
	for k, n := range d {
		for range n {
			sum.Add(k.severity)
		}
	}
	return sum
}
