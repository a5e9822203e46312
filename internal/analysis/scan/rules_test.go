package scan

import (
	"slices"
	"testing"
	"testing/fstest"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/skill"
)

// TestRules checks that each rule fires at its example and not at the harmless one. No other rule
// of the lane enforce fires at either.
func TestRules(t *testing.T) {
	seen := map[skill.RuleID]bool{}
	for i, r := range Rules {
		t.Run(string(r.ID), func(t *testing.T) {
			if seen[r.ID] {
				t.Error("two rows have this id")
			}
			seen[r.ID] = true
			if r.Title == "" || r.Source == "" || r.Fix == "" || r.Lane != Enforce && r.Lane != Review {
				t.Errorf("the row is not complete: %+v", r)
			}
			if r.Lane == Enforce && i > 0 && Rules[i-1].Lane != Enforce {
				t.Error("the enforce lane is not first")
			}
			if r.Fires() == "" || r.Quiet() == "" {
				t.Skip("the row has no examples")
			}
			fires, quiet := example(t, r, r.Fires()), example(t, r, r.Quiet())
			if r.ID == passage.NameNear {
				fires, quiet = nameExample(r.Fires()), nameExample(r.Quiet())
			}
			if !has(fires, r.ID) {
				t.Errorf("the rule does not fire: %+v", fires.Findings)
			}
			if has(quiet, r.ID) || quiet.Enforce > 0 {
				t.Errorf("the neighbour is not quiet: %+v", quiet.Findings)
			}
			for _, f := range fires.Findings {
				if f.Lane == Enforce && f.Rule != r.ID {
					t.Errorf("another rule fires too: %+v", f)
				}
			}
		})
	}
}

// example scans a skill with the content in the rule's file.
func example(t testing.TB, r Rule, content string) Report {
	t.Helper()
	in := r.In
	if in == "" {
		in = "SKILL.md"
	}
	return scanOf(t, map[string]string{in: content})
}

// nameExample returns the report on a skill with the given name.
func nameExample(name string) (r Report) {
	if f, ok := Near([]Named{{name, "~/.claude/skills"}, {"code-review", "./skills"}}, nil)[0]; ok {
		r.Add(f)
	}
	return r
}

const plainMain = "---\nname: plain\ndescription: Does what it says.\n---\nNothing to see.\n"

// scanOf scans a skill with the given files. It adds a plain main file if they lack one.
func scanOf(t testing.TB, contents map[string]string) Report {
	t.Helper()
	fsys, files := skillOf(contents)
	report, err := Skill(t.Context(), fsys, files, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func skillOf(contents map[string]string) (fstest.MapFS, []skill.File) {
	fsys := fstest.MapFS{}
	if _, ok := contents["SKILL.md"]; !ok {
		fsys["SKILL.md"] = &fstest.MapFile{Data: []byte(plainMain)}
	}
	for path, content := range contents {
		fsys[path] = &fstest.MapFile{Data: []byte(content)}
	}
	var files []skill.File
	for path, f := range fsys {
		files = append(files, skill.File{Path: path, Size: int64(len(f.Data))})
	}
	return fsys, files
}

func has(r Report, id skill.RuleID) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == id })
}

// in returns the first finding of a rule in a file. Without one, it fails the test.
func in(t testing.TB, r Report, id skill.RuleID, path string) Finding {
	t.Helper()
	for _, f := range r.Findings {
		if f.Rule == id && f.File == path {
			return f
		}
	}
	t.Fatalf("%s does not fire in %s: %+v", id, path, r.Findings)
	return Finding{}
}

func fileOf(path, text string) *passage.File { return &passage.File{Path: path, Text: text} }
