package report_test

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
)

// faulty maps files of skills to their contents. The skills have findings of every severity, with
// and without a position.
var faulty = map[string]string{
	"colon/SKILL.md":      "---\nname: colon\ndescription: a: b\n---\n",
	"none/SKILL.md":       "---\ndescription: d\nowner: me\n---\n[a](b c.md) [d](%20)\n",
	"with space/skill.md": "---\nname: with-space\ndescription: Use \u202eit\n---\n[a](../x)\n",
	"empty/SKILL.md":      "",
	"lines/deep/SKILL.md": "---\nname: deep\ndescription: d\n---\n" + strings.Repeat("\n", 600),
}

// runOf returns a report on every skill of a source.
func runOf(t *testing.T, source catalog.Source) *report.Run {
	t.Helper()
	c := catalog.New([]catalog.Source{source}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	judged, err := judgement.Judge{}.All(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	run := &report.Run{}
	for _, d := range judged {
		s := &report.Judged{Verdict: d, Folder: "skills/" + d.Entry.Path}
		run.Skills = append(run.Skills, s)
		for _, f := range d.Findings {
			run.Findings = append(run.Findings, report.Finding{Finding: f, Shown: s.Shown(f.File), Skill: s})
		}
	}
	return run
}

// printed returns a report in the given format.
func printed(t *testing.T, form string, run *report.Run) (string, error) {
	t.Helper()
	var out strings.Builder
	err := command.Print(&console.Env{Stdout: &out, Getenv: func(string) string { return "" }}, run, form)
	return out.String(), err
}

// TestFormsAreClean checks that every format prints a finding without the control characters of a
// hostile skill.
func TestFormsAreClean(t *testing.T) {
	run := runOf(t, skilltest.New("claude-project", skill.ScopeProject, faulty))
	run.Infos = true
	run.Findings[0].Message = "a \x1b[2Jmessage\nof two lines\u202e"
	run.Findings[0].Shown = "\x1b]0;title\x07.md"
	for _, form := range report.Formats {
		out, err := printed(t, form, run)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(out, "\x1b\x07\u202e") || !strings.Contains(out, "message") {
			t.Errorf("%s: %q", form, out)
		}
	}
}

// TestAnnotationsAreLines checks that an annotation is one line, so that no message can begin
// another workflow command.
func TestAnnotationsAreLines(t *testing.T) {
	run := &report.Run{Findings: []report.Finding{{Shown: "a,b:c/SKILL.md", Finding: check.Finding{
		Rule: "name-missing", Severity: skill.SeverityError, Message: "100%\n::error::forged", Position: skill.Position{Line: 2, Column: 3}, Length: 4, Fix: "add it",
	}}}}
	out, err := printed(t, "github", run)
	want := "::error file=a%2Cb%3Ac/SKILL.md,line=2,col=3,endColumn=7,title=name-missing::100%25%0A::error::forged%0Afix: add it\n"
	if err != nil || out != want {
		t.Errorf("%q, want %q (%v)", out, want, err)
	}
}
