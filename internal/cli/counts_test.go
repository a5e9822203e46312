package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/test/corpus"
)

// counted are what a command says in JSON of some skills.
type counted struct {
	Count   doctor.Count
	Summary struct{ Skills, Errors, Warnings, Infos int }
	Skills  []struct {
		Folder, Path, Status   string
		File                   string
		Available, Publishable bool
		Problems               []doctor.Problem
	}
	Roots    []struct{ Notices []doctor.Notice }
	Findings []struct {
		doctor.Problem
		Skill string
	}
}

// agree compares what list, doctor and check say of the skills in a folder: how many
// there are, in which state, and every problem of each. The rules of scan are left out, since check
// alone applies all of them.
func agree(t *testing.T, dir string) doctor.Count {
	t.Helper()
	said := func(args ...string) (c counted) {
		out, stderr, _ := ran(t, dir, append(args, "--json")...)
		if err := json.Unmarshal([]byte(out), &c); err != nil {
			t.Fatalf("%q: %v\n%s", args, err, stderr)
		}
		return c
	}
	list, report, checked := said("list", "--all", "--dir", ".", "--no-builtin"), said("doctor", "--dir", ".", "--no-builtin"), said("check", ".")
	if diff := cmp.Diff(list.Count, report.Count); diff != "" {
		t.Errorf("list and doctor count otherwise: %s", diff)
	}
	c := list.Count
	var contents [2]doctor.Severities // of list and check
	isContent := func(p doctor.Problem, of int) bool {
		if p.Group == "content" {
			contents[of].Add(p.Severity)
		}
		return p.Group == "content"
	}
	states := func(all counted, at func(i int) string) (out []string) {
		for i, s := range all.Skills {
			out = append(out, fmt.Sprint(at(i), " available ", s.Available, " publishable ", s.Publishable))
		}
		return out
	}
	byPath := func(c counted) func(int) string { return func(i int) string { return c.Skills[i].Path } }
	want := states(list, byPath(list))
	if diff := cmp.Diff(want, states(report, byPath(report))); diff != "" {
		t.Errorf("list and doctor: %s", diff)
	}
	if diff := cmp.Diff(want, states(checked, func(i int) string { return checked.Skills[i].Folder })); diff != "" {
		t.Errorf("list and check: %s", diff)
	}
	var ofList, ofDoctor, ofCheck []string
	word := func(p doctor.Problem) string { return fmt.Sprintf("%+v", p) }
	for i := range list.Skills {
		for _, p := range list.Skills[i].Problems {
			if !isContent(p, 0) {
				ofList = append(ofList, word(p))
			}
		}
		for _, p := range report.Skills[i].Problems {
			if p.Group != "content" {
				ofDoctor = append(ofDoctor, word(p))
			}
		}
	}
	notices := 0
	for _, f := range checked.Findings {
		if f.Skill == "" {
			notices++
			continue
		}
		if !isContent(f.Problem, 1) {
			ofCheck = append(ofCheck, word(f.Problem))
		}
	}
	if s, l, k := checked.Summary, contents[0], contents[1]; s.Skills != c.Skills || s.Errors-k.Errors != c.Errors-l.Errors || s.Warnings != c.Warnings || s.Infos-k.Infos != c.Infos-l.Infos {
		t.Errorf("check counts %+v, of scan %+v, list %+v, of scan %+v", s, k, c, l)
	}
	if diff := cmp.Diff(ofList, ofDoctor); diff != "" {
		t.Errorf("problems of list and doctor: %s", diff)
	}
	if diff := cmp.Diff(ofList, ofCheck); diff != "" {
		t.Errorf("problems of list and check: %s", diff)
	}
	if notices != c.Notices || len(list.Roots) != 1 || len(list.Roots[0].Notices) != notices || len(report.Roots[0].Notices) != notices {
		t.Errorf("check has %d notices, list %d", notices, c.Notices)
	}
	// The texts have the same figures.
	for _, text := range []struct {
		args []string
		want string
	}{
		{[]string{"list", "--dir", ".", "--no-builtin"}, fmt.Sprintf(`(?m)^%d skills?\b`, c.Available)},
		{[]string{"doctor", "--dir", ".", "--no-builtin"}, fmt.Sprintf(`(?m)^%d available\b.*\b%d errors?, %d warnings?;`, c.Available, c.Errors, c.Warnings)},
		{[]string{"check", "."}, fmt.Sprintf(`(?m)^%d skills?: %d errors?, %d warnings?\b`, c.Skills, checked.Summary.Errors, c.Warnings)},
	} {
		out, _, _ := ran(t, dir, text.args...)
		if c.Errors+c.Warnings > 0 && !regexp.MustCompile(text.want).MatchString(out) {
			lines := strings.Split(strings.TrimSpace(out), "\n")
			t.Errorf("%q ends with %q, which is not %s", text.args, lines[len(lines)-1], text.want)
		}
	}
	if c.Skills != c.Available+c.Shadowed+c.Copies+c.Skipped || c.Available != c.Fine+c.Problems {
		t.Errorf("it does not add up: %+v", c)
	}
	return c
}

func TestCountsOfCorpus(t *testing.T) {
	agree(t, corpus.Dir(t, "edge"))
	if testing.Short() {
		t.Skip("the real skills take more than a second")
	}
	if c := agree(t, corpus.Dir(t, "skills")); c.Skills != 776 || c.Publishable != 772 {
		t.Errorf("%+v", c)
	}
}

// inEveryState is a folder of skills of every state: published or not for each reason,
// shadowed, copied, skipped, and with what a scan meets.
func inEveryState(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	good := func(name string) string {
		return "---\nname: " + name + "\ndescription: Does it. Use when asked.\n---\n# It\n"
	}
	for name, text := range map[string]string{
		"a/SKILL.md": good("a"), "b/SKILL.md": good("a"), "c/SKILL.md": good("a") + "More.\n", "d/SKILL.md": good("b"), "e/SKILL.md": good("Odd Name"),
		"broken/SKILL.md": "---\nname: broken\n---\n", "f/skill.md": good("f"), "near/SKILLS.md": good("near"), "links/SKILL.md": good("links") + "[x](none.md)\n",
		"deep/" + strings.Repeat("d/", 14) + "x": "", "many/SKILL.md": good("many"), "outer/SKILL.md": good("outer"), "outer/inner/SKILL.md": good("x"), "outer/x": "",
	} {
		put(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	put(t, filepath.Join(dir, "many", "0"), "")
	for i := range 599 { // one file by many names is quick to make
		if err := os.Link(filepath.Join(dir, "many", "0"), filepath.Join(dir, "many", fmt.Sprint(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Every state at once: published or not for each reason, shadowed, copied, skipped, and
// what a scan meets.
func TestCountsOfStates(t *testing.T) {
	if testing.Short() {
		t.Skip("one skill has more files than a manifest may")
	}
	dir := inEveryState(t)
	c := agree(t, dir)
	// Publishable are a, f, links and outer: b and c have the URI of another name, d's and
	// x's names have a folder or a file in their place, many has too many files.
	if want := (doctor.Count{Skills: 11, Available: 8, Shadowed: 1, Copies: 1, Skipped: 1, Publishable: 4}); c.Skills != want.Skills || c.Available != want.Available || c.Shadowed != want.Shadowed ||
		c.Copies != want.Copies || c.Skipped != want.Skipped || c.Publishable != want.Publishable {
		t.Errorf("%+v, want %+v", c, want)
	}
	out, _, _ := ran(t, dir, "check", "--json", ".")
	for _, rule := range []string{"uri-name", "name-duplicate", "files-many", "near-miss", "depth-limit", "ref-missing", "name-pattern", "description-missing", "file-spelling"} {
		if !strings.Contains(out, `"`+rule+`"`) {
			t.Errorf("no %s in check", rule)
		}
	}
	if slices.Contains(strings.Fields(out), `"more":`) {
		t.Error("600 files are more than were counted")
	}
}
