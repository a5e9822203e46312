package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Check is the section check: changes to the rules of `knack check`.
type Check struct {
	Strict *bool // warnings are errors; nil if the file lacks the key
	// Rules gives findings of a rule another severity, or "off".
	Rules map[skill.RuleID]skill.Severity
}

// off is the value that drops the findings of a rule.
const off skill.Severity = "off"

// severities lists the values that check.rules can give a rule. The YAML parser reads off as a
// string.
var severities = []string{string(off), string(skill.SeverityInfo), string(skill.SeverityWarning), string(skill.SeverityError)}

var checkKeys = []key[Check]{
	{"strict", "boolean", "false", "warnings are errors, as with `--strict`", func(d *decoder, v frontmatter.Value, c *Check) {
		c.Strict = d.boolean("check.strict", v)
	}},
	{"rules", "section", "", "the severity of each rule's findings", func(d *decoder, v frontmatter.Value, c *Check) {
		c.Rules = decodeRules(d, v)
	}},
}

func decodeRules(d *decoder, v frontmatter.Value) map[skill.RuleID]skill.Severity {
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
		fix := nearestOr(f.Value.Text, severities, "write one of "+strings.Join(severities, ", "))
		d.add(ruleValue, f.Value.Position, at+"."+f.Key, fix, "%s is not a severity", describe(f.Value))
	}
	return out
}

func describe(v frontmatter.Value) string {
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

// WithDefaults returns the section with the values of base for keys missing in c.
func (c Check) WithDefaults(base Check) Check {
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

// Severity returns the severity of a rule's findings. It is the severity in this section, or
// otherwise given. The second result is false if the section drops the findings.
func (c Check) Severity(rule skill.RuleID, given skill.Severity) (skill.Severity, bool) {
	if to, ok := c.Rules[rule]; ok {
		given = to
	}
	return given, given != off
}
