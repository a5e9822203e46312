package scan

import (
	"slices"

	"github.com/knack-dev/knack/skill"
)

// Accepted counts the findings of one rule that an operator accepts in a skill.
type Accepted struct {
	Rule   skill.RuleID `json:"rule"`
	Reason string       `json:"reason,omitempty"` // with the place of the reason in the settings
	Count  int          `json:"findings"`
}

// MayHoldBack reports whether a finding of a rule in a lane can hold a skill back in mode enforce.
// It can if the lane is enforce, or if the rule reports content that could not be judged.
func MayHoldBack(rule skill.RuleID, lane Lane) bool {
	return lane == Enforce || rule == RuleTooLarge || rule == RuleNotRead
}

// Accept removes the accepted findings that could hold the skill back from the report, and returns
// them by rule. why returns the reason to accept the findings of a rule, or "" for a rule that is
// not accepted.
func (r *Report) Accept(why func(rule skill.RuleID) (string, error)) (all []Accepted, err error) {
	r.Findings = slices.DeleteFunc(r.Findings, func(f Finding) bool {
		if !MayHoldBack(f.Rule, f.Lane) || err != nil {
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
		if f.Lane == Enforce {
			r.Enforce--
		} else {
			r.Review--
		}
		return true
	})
	return all, err
}
