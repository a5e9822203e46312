package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Check is the section check: changes to the rules of `knack check`.
type Check struct {
	Strict *bool // warnings are errors; nil if the file lacks the key
	// Rules gives findings of a rule another severity, or [Off].
	Rules map[skill.RuleID]skill.Severity
}

// Off drops the findings of a rule.
const Off skill.Severity = "off"

// severities lists the values of a rule. YAML reads off as a text.
var severities = []string{string(Off), string(skill.SeverityInfo), string(skill.SeverityWarning), string(skill.SeverityError)}

var checkKeys = []key[Check]{
	{"strict", "boolean", "false", "warnings are errors, as with `--strict`", func(d *decoder, v frontmatter.Value, c *Check) {
		c.Strict = d.boolean("check.strict", v)
	}},
	{"rules", "section", "", "what becomes of a rule's findings", func(d *decoder, v frontmatter.Value, c *Check) {
		c.Rules = rules(d, v)
	}},
}

var ruleKeys = []Key{{
	"check.rules.RULE", strings.Join(severities, ", "), "its severity in doc/check.md", "the severity of this rule's findings; `off` leaves them out, and does not mend them",
}}

func rules(d *decoder, v frontmatter.Value) map[skill.RuleID]skill.Severity {
	const at = "check.rules"
	out := map[skill.RuleID]skill.Severity{}
	for _, f := range d.fields(at, v) {
		if _, ok := check.RuleOf(skill.RuleID(f.Key)); !ok {
			ids := make([]string, len(check.Rules))
			for i, r := range check.Rules {
				ids[i] = string(r.ID)
			}
			d.unknown(f, at, "rule", ids)
			continue
		}
		if to := f.Value.Text; f.Value.Kind == frontmatter.String && slices.Contains(severities, to) {
			out[skill.RuleID(f.Key)] = skill.Severity(to)
			continue
		}
		mend := "write one of " + strings.Join(severities, ", ")
		if best := typo.Nearest(f.Value.Text, severities); best != "" {
			mend = "did you mean " + best + "?"
		}
		d.add(RuleValue, f.Value.Position, at+"."+f.Key, mend, "%s is no severity", shown(f.Value))
	}
	return out
}

func shown(v frontmatter.Value) string {
	switch v.Kind {
	case frontmatter.List:
		return "a list"
	case frontmatter.Map:
		return "a section"
	case frontmatter.Null:
		return "nothing"
	}
	return display.Quote(v.Text)
}

// Over returns the section with the values of base for the keys that c lacks.
func (c Check) Over(base Check) Check {
	out := Check{Strict: base.Strict, Rules: maps.Clone(base.Rules)}
	if c.Strict != nil {
		out.Strict = c.Strict
	}
	if out.Rules == nil {
		out.Rules = map[skill.RuleID]skill.Severity{}
	}
	maps.Copy(out.Rules, c.Rules)
	return out
}

// Severity returns the severity that this section gives a finding of a rule, or given.
func (c Check) Severity(rule skill.RuleID, given skill.Severity) skill.Severity {
	if to, ok := c.Rules[rule]; ok {
		return to
	}
	return given
}
