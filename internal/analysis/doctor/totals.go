package doctor

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
)

// Totals are the numbers in a report. A server that is still judging computes them from its first
// verdicts.
type Totals struct {
	// Count holds the status of every skill, and the findings of the judged skills.
	Count judgement.Count
	// Scan counts skills without a verdict as not scanned.
	Scan judgement.ScanCount
	// Judged is the number of judged skills, and All the number of all skills.
	Judged, All int
	Summaries   map[*catalog.Entry]*judgement.Summary // of the judged skills
	// Flawed are the judged skills with an error or a warning, and the skipped skills, in the order
	// of the view.
	Flawed []*catalog.Entry
	// Unpublished are the listed skills that the Skills extension does not publish, in the order of
	// the view.
	Unpublished []Unpublished
	// Rules are the rules that have findings which are not accepted, except the rules of package
	// scan. ScanRules are the rules of package scan that have such findings. Both are sorted by
	// severity and then by number of skills.
	Rules, ScanRules []*Rule

	rules map[skill.RuleID]*Rule
}

// Unpublished is a listed skill that the Skills extension does not publish.
type Unpublished struct {
	*catalog.Entry
	Reason string // the message of the first finding that keeps it out
	More   int    // number of further such findings
}

// Rule counts the findings of one rule.
type Rule struct {
	ID               skill.RuleID
	Severity         skill.Severity // the highest of its findings
	Title            string
	Skills, Findings int
	Of               map[*catalog.Entry]bool
}

// Lane returns the lane of the findings of a rule of package scan.
func (r *Rule) Lane() scan.Lane { return check.Finding{Severity: r.Severity}.Lane() }

// TotalsOf returns the numbers of a view. verdict returns the verdict on a skill, or nil if the
// skill was not judged. It also returns a count of findings that the verdict lacks.
func TotalsOf(v catalog.View, verdict func(*catalog.Entry) (*judgement.Verdict, judgement.Tally)) *Totals {
	t := &Totals{Count: judgement.CountOf(v, nil), Scan: judgement.NewScanCount(), All: len(v.Entries), Summaries: make(map[*catalog.Entry]*judgement.Summary, len(v.Entries)), rules: map[skill.RuleID]*Rule{}}
	summaries := make([]judgement.Summary, 0, len(v.Entries)) // one allocation
	for i, e := range v.Entries {
		if i%128 == 0 {
			runtime.Gosched()
		}
		d, lacks := verdict(e)
		if d == nil {
			t.Scan.Unscanned++
			continue
		}
		s, found := d.Summary(), d.Tally()
		for k, n := range lacks {
			found[k] += n
			s.Add(k, n)
		}
		for k, n := range found {
			if !k.Accepted {
				t.addRule(e, k, n)
			}
		}
		t.Scan.Add(d, found)
		t.Judged++
		t.Count.Add(s)
		summaries = append(summaries, s)
		t.Summaries[e] = &summaries[len(summaries)-1]
		if s.Errors+s.Warnings > 0 || s.Status == catalog.Skipped {
			t.Flawed = append(t.Flawed, e)
		}
		if !s.Published && s.Status != catalog.Skipped && s.Status != catalog.Unlisted {
			u := Unpublished{Entry: e}
			if why := d.Unpublished(); len(why) > 0 {
				u.Reason, u.More = why[0].Message, len(why)-1
			}
			t.Unpublished = append(t.Unpublished, u)
		}
	}
	t.sortRules()
	return t
}

// Complete reports whether every skill has been judged.
func (t *Totals) Complete() bool { return t.Judged == t.All }

// Rule returns the counts of a rule, or nil if the rule has no finding.
func (t *Totals) Rule(id skill.RuleID) *Rule { return t.rules[id] }

// addRule counts n findings of a skill.
func (t *Totals) addRule(e *catalog.Entry, k judgement.Key, n int) {
	r := t.rules[k.Rule]
	if r == nil {
		r = &Rule{ID: k.Rule, Severity: k.Severity, Of: map[*catalog.Entry]bool{}}
		if rule, ok := check.RuleOf(k.Rule); ok {
			r.Title = rule.Title
		}
		t.rules[k.Rule] = r
	}
	if rank(k.Severity) < rank(r.Severity) {
		r.Severity = k.Severity
	}
	r.Of[e] = true
	r.Skills, r.Findings = len(r.Of), r.Findings+n
}

// rank returns the order of a severity, 0 for the worst.
func rank(s skill.Severity) int {
	return slices.Index([]skill.Severity{skill.SeverityError, skill.SeverityWarning, skill.SeverityInfo}, s)
}

func (t *Totals) sortRules() {
	for _, r := range t.rules {
		if scan.IsRule(r.ID) {
			t.ScanRules = append(t.ScanRules, r)
		} else {
			t.Rules = append(t.Rules, r)
		}
	}
	for _, rules := range [][]*Rule{t.Rules, t.ScanRules} {
		slices.SortFunc(rules, func(a, b *Rule) int {
			return cmp.Or(rank(a.Severity)-rank(b.Severity), b.Skills-a.Skills, strings.Compare(string(a.ID), string(b.ID)))
		})
	}
}
