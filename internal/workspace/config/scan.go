package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// maxAccept limits the number of items of scan.accept and of scan.approve.
const maxAccept = 1024

// today returns the present time, for checks of expiry; tests replace it.
var today = time.Now

var scanKeys = []key[admission.Config]{
	{"mode", "off, review, enforce", "off", "whether the skills of a server are scanned: `review` shows the findings, `enforce` also holds back each skill that has one to enforce", func(d *decoder, v frontmatter.Value, s *admission.Config) {
		s.Mode = d.oneOf("scan.mode", v, admission.Modes)
	}},
	{"rules", "section", "", "the lane of each rule's findings: `enforce`, `review` or `off`", func(d *decoder, v frontmatter.Value, s *admission.Config) {
		s.Rules = decodeLanes(d, v)
	}},
	{"accept", "list", "none", "findings that hold no skill back", func(d *decoder, v frontmatter.Value, s *admission.Config) {
		s.Accept = decodeAccept(d, v)
	}},
	{"approve", "list", "none", "patterns of the skills that are served only as `knack approve` approved them, in any mode", func(d *decoder, v frontmatter.Value, s *admission.Config) {
		for i, item := range d.itemsUpTo("scan.approve", v, maxAccept, "patterns", "write patterns that fit more skills") {
			s.Approve = append(s.Approve, d.pattern("scan.approve["+strconv.Itoa(i)+"]", item))
		}
	}},
}

// pattern decodes a pattern of skills.
func (d *decoder) pattern(at string, v frontmatter.Value) access.Pattern {
	p, err := access.ParsePattern(v.Text)
	if v.Kind != frontmatter.String || err != nil {
		why := "is not text"
		if err != nil && v.Kind == frontmatter.String {
			why = "is not a pattern: " + err.Error()
		}
		d.add(ruleValue, v.Position, at, "write the URI of a skill, or one with * and **, such as \"skill://acme/**\"", "%s %s", at, why)
	}
	return p
}

// scanRuleIDs lists the ids of the rules of a scan.
func scanRuleIDs() []string {
	ids := make([]string, len(scan.Rules))
	for i, r := range scan.Rules {
		ids[i] = string(r.ID)
	}
	return ids
}

func decodeLanes(d *decoder, v frontmatter.Value) map[skill.RuleID]scan.Lane {
	const at = "scan.rules"
	lanes := []string{string(scan.Enforce), string(scan.Review), string(off)}
	out := map[skill.RuleID]scan.Lane{}
	for _, f := range d.fields(at, v) {
		if scan.IsRetired(skill.RuleID(f.Key)) {
			continue
		}
		if ids := scanRuleIDs(); !slices.Contains(ids, f.Key) {
			d.unknown(f, at, "rule", ids)
			continue
		}
		to := f.Value.Text
		if f.Value.Kind != frontmatter.String || !slices.Contains(lanes, to) {
			fix := nearestOr(to, lanes, "write one of "+strings.Join(lanes, ", "))
			d.add(ruleValue, f.Value.Position, at+"."+f.Key, fix, "%s is not a lane", describe(f.Value))
			continue
		}
		out[skill.RuleID(f.Key)] = scan.Lane(strings.TrimPrefix(to, string(off)))
	}
	return out
}

func acceptKeys(at string) []key[admission.Accept] {
	return []key[admission.Accept]{
		{"rule", "text", "", "the id of a rule of `knack scan`; required", func(d *decoder, v frontmatter.Value, a *admission.Accept) {
			ids := scanRuleIDs()
			if a.Rule = skill.RuleID(v.Text); !slices.Contains(ids, v.Text) && !scan.IsRetired(a.Rule) {
				fix := nearestOr(v.Text, ids, "write a rule of 'knack help rules'")
				d.add(ruleValue, v.Position, at+".rule", fix, "there is no rule %s", describe(v))
			}
		}},
		{"skill", "text", "", "a pattern of skills, as in `access`; required", func(d *decoder, v frontmatter.Value, a *admission.Accept) {
			a.Skill = d.pattern(at+".skill", v)
		}},
		{"set", "text", "any", "the digest of the skill's files, as `knack scan --json` prints it; without it, `until` is required", func(d *decoder, v frontmatter.Value, a *admission.Accept) {
			var err error
			if a.Set, err = skill.ParseDigest(v.Text); v.Kind != frontmatter.String || err != nil {
				d.add(ruleValue, v.Position, at+".set", "write sha256: and 64 lower-case hexadecimal digits, as 'knack scan --json' prints them", "%s.set is not a digest", at)
			}
		}},
		{"reason", "text", "", "why the finding is accepted; required", func(d *decoder, v frontmatter.Value, a *admission.Accept) {
			a.Reason = d.text(at+".reason", v, "write why the finding is accepted")
		}},
		{"until", "date", "none", "the last day of the acceptance, in UTC", func(d *decoder, v frontmatter.Value, a *admission.Accept) {
			day, err := time.Parse(time.DateOnly, v.Text)
			a.Until = day
			switch {
			case v.Kind == frontmatter.List, v.Kind == frontmatter.Map, err != nil:
				d.add(ruleValue, v.Position, at+".until", "write year, month and day, such as 2027-01-31", "%s.until is not a day", at)
			case !today().Before(a.End()):
				d.add(ruleValue, v.Position, at+".until", "look at the finding again: remove the entry, or write a later day", "%s.until has passed", at)
			}
		}},
	}
}

func decodeAccept(d *decoder, v frontmatter.Value) (all []admission.Accept) {
	for i, item := range d.itemsUpTo("scan.accept", v, maxAccept, "entries", "write patterns that fit more skills") {
		at := "scan.accept[" + strconv.Itoa(i) + "]"
		a := admission.Accept{Line: item.Position.Line}
		section(d, at, item, acceptKeys(at), &a)
		d.require(at, item, "rule", "write rule: and the id of a rule, such as run-decoded")
		d.require(at, item, "skill", "write skill: and a pattern, such as \"skill://acme/fixtures/*\"")
		d.require(at, item, "reason", "write reason: and why the finding is accepted")
		if lacks(item, "set") && lacks(item, "until") {
			d.add(ruleValue, item.Position, at, "write set: with the digest of the skill's files, or until: with a day", "%s has neither set nor until, and would hold after any change of the skill", at)
		}
		if a.Rule == scan.RuleTooLarge && lacks(item, "set") {
			d.add(ruleValue, item.Position, at, "write set: with the digest of the skill's files, as 'knack scan --json' prints it", "%s accepts too-large without set: a part that is not judged can have anything in it", at)
		}
		all = append(all, a)
	}
	return all
}

// scanText returns the contents of scan, without its positions.
func scanText(s admission.Config) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(s.Mode, admission.Off))
	for _, r := range scan.Rules {
		if lane, ok := s.Rules[r.ID]; ok {
			fmt.Fprintf(&b, "\x00%s=%s", r.ID, lane)
		}
	}
	for _, a := range s.Accept {
		fmt.Fprintf(&b, "\x00%s %s %s %s", a.Rule, a.Skill, a.Set, a.Until)
	}
	for _, p := range s.Approve {
		b.WriteString("\x00" + p.String())
	}
	return b.String()
}
