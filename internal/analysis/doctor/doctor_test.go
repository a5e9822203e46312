package doctor_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

func good(name string) string {
	return "---\nname: " + name + "\ndescription: Does it. Use when asked.\n---\n# It\n"
}

// view returns a view of files in which the first part of each name is the root.
func view(t *testing.T, files map[string]string) (catalog.View, doctor.Options) {
	t.Helper()
	top := t.TempDir()
	for name, text := range files {
		at := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var sources []catalog.Source
	for _, label := range []string{"one", "two"} {
		sources = append(sources, dir.New(dir.Options{Root: skill.Root{Label: label, Prefix: label, Scope: skill.ScopeProject, Dir: filepath.Join(top, label), Shown: label}}))
	}
	c := catalog.New(sources, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v, doctor.Options{Sources: sources, Dir: top, Home: filepath.Join(top, "home"), Shown: func(path string) string { return path }, Serving: func(folder string) string { return "serve " + folder }}
}

// TestJudge checks that a verdict contains the findings about the skill and about its location.
func TestJudge(t *testing.T) {
	v, _ := view(t, map[string]string{
		"one/a/SKILL.md": good("a"), "one/b/SKILL.md": good("b") + "[x](none.md)\n", "one/c/SKILL.md": "---\nname: c\n---\n", "one/d/SKILL.md": good("e"), "one/e/SKILL.md": good("e2"),
		"two/a/SKILL.md": good("a"), "two/b/SKILL.md": good("b"), "two/b/.env": "", "two/b/x": "12345",
	})
	all, err := judgement.Judge{}.All(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range all {
		line := fmt.Sprintf("%s %s %s", d.Entry.Place(), d.Entry.Status, d.Summary().State())
		for _, f := range d.Findings {
			if f.Severity != skill.SeverityInfo || f.Related != nil {
				line += fmt.Sprintf(" %s", f.Rule)
			}
		}
		if d.Publishable() {
			line += " published"
		}
		if d.NHidden > 0 {
			line += fmt.Sprintf(", %d hidden, %d files of %d bytes", d.NHidden, d.Cost.Files, d.Cost.Bytes)
		}
		got = append(got, line)
	}
	want := []string{
		"one/a/SKILL.md available fine published",
		"one/b/SKILL.md available problems ref-missing published",
		"one/c/SKILL.md skipped skipped description-missing",
		"one/d/SKILL.md available problems uri-name name-folder",
		"one/e/SKILL.md available problems name-folder published",
		"two/a/SKILL.md copy copied name-duplicate published",
		"two/b/SKILL.md shadowed shadowed name-duplicate published, 1 hidden, 2 files of 64 bytes",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, d := range all {
		for _, f := range d.Findings {
			if f.Related != nil && (f.Related.File != d.Entry.By.Place() || f.Related.Position.String() != "2:7") {
				t.Errorf("%s: related is %+v", d.Entry.Place(), f.Related)
			}
		}
	}
	c := judgement.CountOf(v, all)
	if want := (judgement.Count{Statuses: judgement.Statuses{Skills: 7, Available: 4, Shadowed: 1, Copies: 1, Skipped: 1}, Publishable: 5, Fine: 1, Problems: 3, Severities: &judgement.Severities{Errors: 3, Warnings: 3, Infos: c.Infos}, Scan: &judgement.Severities{}}); !cmp.Equal(c, want) {
		t.Error(cmp.Diff(want, c))
	}
}

// TestExamineEnds checks that Examine and Explain fail when their context ends.
func TestExamineEnds(t *testing.T) {
	v, o := view(t, map[string]string{"one/a/SKILL.md": good("a")})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := doctor.Examine(ctx, v, o); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := doctor.Explain(ctx, v, o, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// TestReportCountsProblems checks that the report counts the problems of a skill but does not list
// them.
func TestReportCountsProblems(t *testing.T) {
	v, o := view(t, map[string]string{"one/a/SKILL.md": good("a") + "[x](none.md) [y](gone.md)\n", "one/Odd/SKILL.md": good("Odd"), "two/a/SKILL.md": good("a") + "More.\n"})
	r, err := doctor.Examine(t.Context(), v, o)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	listing.PrintReport((&console.Env{Stdout: &b}).Out(), r)
	for _, want := range []string{
		"  a  one/a/SKILL.md\n    2 warnings\n",
		"  Odd  one/Odd/SKILL.md\n    not offered by the Skills extension: 2:7: ",
		"  two/a/SKILL.md  has the same name as one/a/SKILL.md; load it as two:a\nwhat",
		"2 available, 1 shadowed, 1 not offered by the Skills extension; 1 error, 3 warnings; knack doctor SKILL",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
}
