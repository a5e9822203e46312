package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/skill"
)

// kind is what findings have in common that a count puts together.
type kind struct {
	rule     skill.RuleID
	severity skill.Severity
}

// ruleCount counts the findings of one rule.
type ruleCount struct {
	ID               skill.RuleID
	Severity         skill.Severity // the highest of its findings
	Title            string
	Href             string // the list of its skills
	Skills, Findings int
	of               map[*catalog.Entry]bool
}

// ruled counts findings of a skill.
func (t *totals) ruled(e *catalog.Entry, k kind, n int) {
	r := t.rules[k.rule]
	if r == nil {
		r = &ruleCount{ID: k.rule, Severity: k.severity, Href: filter{Rule: k.rule}.href(), of: map[*catalog.Entry]bool{}}
		if rule, ok := check.RuleOf(k.rule); ok {
			r.Title = rule.Title
		}
		t.rules[k.rule] = r
	}
	if rank(k.severity) < rank(r.Severity) {
		r.Severity = k.severity
	}
	r.of[e] = true
	r.Skills, r.Findings = len(r.of), r.Findings+n
}

// rank orders severities, the worst first.
func rank(s skill.Severity) int {
	return slices.Index([]skill.Severity{skill.SeverityError, skill.SeverityWarning, skill.SeverityInfo}, s)
}

// byRule returns the counts of the rules, the worst first, then those of the most skills.
func (t *totals) byRule() (all []*ruleCount) {
	for _, r := range t.rules {
		all = append(all, r)
	}
	slices.SortFunc(all, func(a, b *ruleCount) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), b.Skills-a.Skills, strings.Compare(string(a.ID), string(b.ID)))
	})
	return all
}

// faulty returns the skills that a filter for a rule or for unpublished skills accepts.
func (t *totals) faulty(f filter) map[*catalog.Entry]bool {
	if f.Rule != "" && f.Published == "" {
		if r := t.rules[f.Rule]; r != nil {
			return r.of
		}
		return nil
	}
	in := map[*catalog.Entry]bool{}
	if f.Published == "no" {
		for _, e := range t.unpublished {
			if r := t.rules[f.Rule]; f.Rule == "" || r != nil && r.of[e] {
				in[e] = true
			}
		}
	}
	return in
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
