package scan

import (
	"slices"

	"github.com/knack-dev/knack/skill"
)

// Accepted are the findings of a rule that an operator accepts in a skill.
type Accepted struct {
	Rule   skill.RuleID `json:"rule"`
	Reason string       `json:"reason,omitempty"` // with its place
	Count  int          `json:"findings"`
}

// Accept takes the accepted findings to enforce out of the report, and returns them by rule. why returns
// the reason to accept the findings of a rule, or "".
func (r *Report) Accept(why func(rule skill.RuleID) (string, error)) (all []Accepted, err error) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		if f.Lane != Enforce || err != nil {
			return false
		}
		at := slices.IndexFunc(all, func(a Accepted) bool { return a.Rule == f.Rule })
		if at < 0 {
			var reason string
			if reason, err = why(f.Rule); reason == "" {
				return false
			}
			at, all = len(all), append(all, Accepted{Rule: f.Rule, Reason: reason})
		}
		all[at].Count++
		r.Enforce--
		return true
	})
	return all, err
}
