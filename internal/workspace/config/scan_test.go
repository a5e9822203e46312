package config

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/policy/admission"
	"github.com/knack-dev/knack/skill"
)

// TestScan checks that the section is decoded, and that faulty entries are refused.
func TestScan(t *testing.T) {
	today = func() time.Time { return time.Date(2026, 11, 24, 23, 59, 0, 0, time.UTC) }
	t.Cleanup(func() { today = time.Now })
	const set = "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
	c, problems := Parse([]byte(`scan:
  mode: enforce
  rules: {program: enforce, persist: off, agent-config: enforce}
  accept:
    - {rule: run-decoded, skill: "skill://acme/*", set: ` + set + `, reason: test data}
    - {rule: secret, skill: "skill://**", reason: soon, until: 2026-11-24}
  approve: ["skill://**"]
`))
	if len(problems) > 0 {
		t.Fatal(linesOf(problems))
	}
	digest, _ := skill.ParseDigest(set)
	acme, _ := access.ParsePattern("skill://acme/*")
	every, _ := access.ParsePattern("skill://**")
	want := admission.Config{Mode: "enforce", Rules: map[skill.RuleID]scan.Lane{"program": scan.Enforce, "persist": ""}, Approve: []access.Pattern{every},
		Accept: []admission.Accept{{Rule: "run-decoded", Skill: acme, Set: digest, Reason: "test data", Line: 5}, {Rule: "secret", Skill: every, Reason: "soon", Until: time.Date(2026, 11, 24, 0, 0, 0, 0, time.UTC), Line: 6}}}
	if diff := cmp.Diff(want, c.Scan, cmp.Comparer(func(a, b access.Pattern) bool { return a.String() == b.String() })); diff != "" {
		t.Error(diff)
	}
	accept := func(text string) string { return "scan:\n  accept:\n    - {" + text + "}\n" }
	for text, want := range map[string]string{
		"scan: {mode: strict}\n":                                                     "config-value@1:14 scan.mode: 'strict' is not one of off, review, enforce | write one of off, review, enforce",
		"scan: {rules: {run-decodet: off}}\n":                                        "config-key@1:16 scan.rules.run-decodet: there is no rule 'run-decodet' in scan.rules | did you mean run-decoded?",
		"scan: {rules: {run-decoded: warning}}\n":                                    "config-value@1:29 scan.rules.run-decoded: 'warning' is not a lane | write one of enforce, review, off",
		"scan: {approve: [acme]}\n":                                                  "config-value@1:18 scan.approve[0]: scan.approve[0] is not a pattern: it does not begin with skill:// | write the URI of a skill, or one with * and **, such as \"skill://acme/**\"",
		accept("rule: secret, skill: 'skill://**', until: 2027-01-31"):               "config-value@3:7 scan.accept[0].reason: scan.accept[0] has no reason | write reason: and why the finding is accepted",
		accept("rule: secret, skill: 'skill://**', until: 2026-11-23, reason: x"):    "config-value@3:50 scan.accept[0].until: scan.accept[0].until has passed | look at the finding again: remove the entry, or write a later day",
		accept("rule: secret, skill: 'skill://**', until: tomorrow, reason: x"):      "config-value@3:50 scan.accept[0].until: scan.accept[0].until is not a day | write year, month and day, such as 2027-01-31",
		accept("rule: secret, skill: 'skill://**', reason: x"):                       "config-value@3:7 scan.accept[0]: scan.accept[0] has neither set nor until, and would hold after any change of the skill | write set: with the digest of the skill's files, or until: with a day",
		accept("rule: too-large, skill: 'skill://**', reason: x, until: 2027-01-31"): "config-value@3:7 scan.accept[0]: scan.accept[0] accepts too-large without set: a part that is not judged can have anything in it | write set: with the digest of the skill's files, as 'knack scan --json' prints it",
		accept("rule: secrets, skill: 'skill://**', reason: x, set: " + set):         "config-value@3:14 scan.accept[0].rule: there is no rule 'secrets' | did you mean secret?",
		accept("rule: secret, skill: 'skill://**', reason: x, set: sha256:9"):        "config-value@3:59 scan.accept[0].set: scan.accept[0].set is not a digest | write sha256: and 64 lower-case hexadecimal digits, as 'knack scan --json' prints them",
		accept("rule: secret, skill: 'skill://**', reason: '', until: 2027-01-31"):   "config-value@3:51 scan.accept[0].reason: scan.accept[0].reason is not text | write why the finding is accepted",
		accept("rule: secret, reason: x, until: 2027-01-31"):                         "config-value@3:7 scan.accept[0].skill: scan.accept[0] has no skill | write skill: and a pattern, such as \"skill://acme/fixtures/*\"",
		accept("skill: 'skill://**', reason: x, until: 2027-01-31"):                  "config-value@3:7 scan.accept[0].rule: scan.accept[0] has no rule | write rule: and the id of a rule, such as run-decoded",
	} {
		c, problems := Parse([]byte(text))
		if got := linesOf(problems); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		if diff := cmp.Diff(Config{}, c); diff != "" {
			t.Errorf("%s: something of it holds", text)
		}
	}
	before, _ := Parse([]byte("scan: {mode: enforce}\n"))
	for text, want := range map[string]int{"scan: {mode: off}\n": 1, "scan: {mode: enforce, rules: {secret: enforce}}\n": 1, "\n\nscan: {mode: enforce}\n": 0, "": 1} {
		if after, problems := Parse([]byte(text)); len(problems) > 0 || len(after.NeedRestart(before)) != want {
			t.Errorf("%q: %v need a restart", text, after.NeedRestart(before))
		}
	}
}
