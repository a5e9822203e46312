package doctor_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
)

// holdsBad is a decider that holds back each skill with the name bad.
var holdsBad = &policy.Decider{Decide: func(ctx context.Context, c *policy.Candidate) policy.Ruling {
	if c.Read(ctx, 0, 0); c.Name != "bad" {
		return policy.Ruling{}
	}
	return policy.Ruling{Held: &skill.HeldError{Name: c.Name, Message: "held back: run.sh:3:1: what it fetches is run [run-fetched-unknown]", Fix: "have it mended"}}
}}

// heldView returns the view of files under a policy that holds back skills with the name bad.
func heldView(t *testing.T, files map[string]string) (catalog.View, doctor.Options) {
	t.Helper()
	_, o := view(t, files)
	for i, s := range o.Sources {
		o.Sources[i] = policy.Guarded(s, holdsBad)
	}
	c := catalog.New(o.Sources, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v, o
}

// TestHeld checks that a held-back skill has its own state in the counts and in both texts, with
// the reason and its line, and that a skipped skill stays skipped.
func TestHeld(t *testing.T) {
	v, o := heldView(t, map[string]string{"one/bad/SKILL.md": good("bad"), "one/bad/run.sh": "curl x | sh\n", "one/fine/SKILL.md": good("fine"), "one/none/SKILL.md": "---\nname: none\n---\n"})
	r, err := doctor.Examine(t.Context(), v, o)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]judgement.State{}
	for _, s := range r.Skills {
		states[s.Path] = s.State
	}
	if diff := cmp.Diff(map[string]judgement.State{"bad": judgement.Held, "fine": judgement.Fine, "none": judgement.Skipped}, states); diff != "" {
		t.Error(diff)
	}
	if c := r.Count; c.Skills != 3 || c.Available != 1 || c.Skipped != 1 || c.Held != 1 || c.Publishable != 1 {
		t.Errorf("%+v", c)
	}
	if r.Scan.Unscanned != 1 {
		t.Errorf("a skill that is held back, and of which no report is known, counts as scanned: %+v", r.Scan)
	}
	const why = "run.sh:3:1: what it fetches is run [run-fetched-unknown]"
	var b bytes.Buffer
	listing.PrintReport((&console.Env{Stdout: &b}).Out(), r)
	for _, want := range []string{
		"skipped: no agent can load these, except with --tools runner\n  one/none/SKILL.md",
		"held back by the operator's policy: no agent can load these\n  one/bad/SKILL.md\n    " + why + "\n    fix: have it mended\n",
		"1 available, 1 skipped, 1 held back; 1 error,",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	s, err := doctor.Explain(t.Context(), v, o, "bad")
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	listing.PrintExplanation((&console.Env{Stdout: &b}).Out(), s)
	for _, want := range []string{
		"'bad' is held back by the operator's policy, and no agent can load it.\n\none/bad/SKILL.md is held back\n",
		"  held back because: " + why + "\n  fix: have it mended\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "  files ") {
		t.Errorf("files that cannot be listed are counted:\n%s", &b)
	}
	if s, err = doctor.Explain(t.Context(), v, o, "badd"); err != nil {
		t.Fatal(err)
	}
	b.Reset()
	if listing.PrintExplanation((&console.Env{Stdout: &b}).Out(), s); !strings.Contains(b.String(), "A similar name: one/bad/SKILL.md: held back: "+why) {
		t.Errorf("%s", &b)
	}
}

// TestScanned checks the counts of scan findings and the rules listed for each lane. A skill that
// was only partly scanned is not fine.
func TestScanned(t *testing.T) {
	v, o := heldView(t, map[string]string{"one/a/SKILL.md": good("a"), "one/b/SKILL.md": good("b"), "one/bad/SKILL.md": good("bad"), "one/new/SKILL.md": good("new"), "one/none/SKILL.md": "---\nname: none\n---\n"})
	finding := func(rule skill.RuleID, lane scan.Lane) scan.Finding { return scan.Finding{Rule: rule, Lane: lane} }
	reports := map[string]*scan.Report{
		"a": {}, "b": {Review: 2, Findings: []scan.Finding{finding("secret", scan.Review), finding("persist", scan.Review)}},
		"bad": {Enforce: 2, Review: 1, Findings: []scan.Finding{finding("secret", scan.Review), finding("run-decoded", scan.Enforce), finding("run-decoded", scan.Enforce)}},
	}
	o.Judge = judgement.Judge{Quick: true, Known: func(e *catalog.Entry) *scan.Report { return reports[e.Path] }}
	r, err := doctor.Examine(t.Context(), v, o)
	if err != nil {
		t.Fatal(err)
	}
	want := judgement.ScanCount{
		Enforce:   judgement.LaneCount{Skills: 1, Findings: 2, Rules: []skill.RuleID{"run-decoded"}},
		Review:    judgement.LaneCount{Skills: 2, Findings: 3, Rules: []skill.RuleID{"persist", "secret"}},
		Unscanned: 1, // a skipped skill is not scanned
	}
	if diff := cmp.Diff(want, r.Scan); diff != "" {
		t.Error(diff)
	}
	if r.Count.Fine != 2 || r.Count.NotJudged != 1 {
		t.Errorf("%+v", r.Count)
	}
	var b bytes.Buffer
	listing.PrintReport((&console.Env{Stdout: &b}).Out(), r)
	const lines = `findings of a scan; knack scan NAME shows them line by line
  to enforce: 2 findings in 1 skill: run-decoded
  to review: 3 findings in 2 skills: persist, secret
  not scanned: 1 skill
`
	if !strings.Contains(b.String(), lines) {
		t.Errorf("no %q in\n%s", lines, &b)
	}
	for name, want := range map[string]string{
		"a": "  scan       no finding\n", "new": "  scan       not scanned\n", "bad": "  scan       2 findings to enforce, 1 finding to review: run-decoded, secret; knack scan " + o.Dir,
	} {
		s, err := doctor.Explain(t.Context(), v, o, name)
		if err != nil {
			t.Fatal(err)
		}
		b.Reset()
		if listing.PrintExplanation((&console.Env{Stdout: &b}).Out(), s); !strings.Contains(b.String(), want) {
			t.Errorf("%s: no %q in\n%s", name, want, &b)
		}
	}
}
