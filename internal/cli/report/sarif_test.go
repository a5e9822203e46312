package report_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/cli/report"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// sarifSchema reads the published schema. It is a draft 4 schema, which draft 7 reads in the same
// way except for the name of the id.
func sarifSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	data, err := os.ReadFile("testdata/sarif/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	data = bytes.Replace(data, []byte("http://json-schema.org/draft-04/schema#"), []byte("http://json-schema.org/draft-07/schema#"), 1)
	data = bytes.Replace(data, []byte(`"id": "https://docs`), []byte(`"$id": "https://docs`), 1)
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestSARIF(t *testing.T) {
	schema := sarifSchema(t)
	sources := []catalog.Source{skilltest.New("claude-project", skill.ScopeProject, faulty)}
	if corpus.Find() != "" && !testing.Short() {
		root := skill.Root{Label: "edge", Scope: skill.ScopeProject, Dir: corpus.Dir(t, "edge"), Shown: "edge"}
		sources = append(sources, dir.New(dir.Options{Root: root, Watches: dir.NewWatches()}))
	}
	for _, source := range sources {
		out, err := printed(t, "sarif", runOf(t, source))
		if err != nil {
			t.Fatal(err)
		}
		if n := validSARIF(t, schema, out); n < 4 {
			t.Errorf("only %d results", n)
		}
	}
}

// validSARIF checks a log against the schema, and the index of each result's rule. It returns the
// number of results.
func validSARIF(t *testing.T, schema *jsonschema.Resolved, out string) int {
	t.Helper()
	var log map[string]any
	if err := json.Unmarshal([]byte(out), &log); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(log); err != nil {
		t.Errorf("not valid SARIF: %.2000s", err)
	}
	run := log["runs"].([]any)[0].(map[string]any)
	rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
	for _, r := range rules {
		r := r.(map[string]any)
		for _, key := range []string{"shortDescription", "fullDescription", "help"} {
			if text, _ := r[key].(map[string]any)["text"].(string); text == "" {
				t.Errorf("rule %s has no %s", r["id"], key)
			}
		}
	}
	results := run["results"].([]any)
	for _, r := range results {
		r := r.(map[string]any)
		if rule := rules[int(r["ruleIndex"].(float64))].(map[string]any); rule["id"] != r["ruleId"] {
			t.Errorf("the index of %s is that of %s", r["ruleId"], rule["id"])
		}
	}
	return len(results)
}

// TestSARIFOfScan checks the logs of check and scan on a skill for each rule of package scan. They
// must be valid, and contain the finding at its line.
func TestSARIFOfScan(t *testing.T) {
	schema := sarifSchema(t)
	contents, scanned := map[string]string{}, &report.ScanRun{}
	for _, r := range scan.Rules {
		in := path.Join(string(r.ID), cmp.Or(r.In, skill.MainFile))
		if r.In != "" {
			contents[path.Join(string(r.ID), skill.MainFile)] = "---\nname: " + string(r.ID) + "\ndescription: Use it.\n---\n"
		}
		contents[in] = r.Fires()
	}
	checked := runOf(t, skilltest.New("claude-project", skill.ScopeProject, contents))
	want := map[string]string{}
	for _, s := range checked.Skills {
		r, err := scan.Loaded(t.Context(), s.Skill, scan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		scanned.Skills = append(scanned.Skills, &report.Scanned{Report: r, Folder: s.Folder, Skill: s.Skill})
		for _, f := range r.Findings {
			want[fmt.Sprint(f.Rule, " ", skill.Join(s.Folder, f.File), " ", max(f.Position.Line, 1))] = string(f.Lane)
		}
	}
	if len(want) < len(scan.Rules) {
		t.Fatalf("only %d findings", len(want))
	}
	for name, r := range map[string]command.Result{"check": checked, "scan": scanned} {
		var out strings.Builder
		if err := command.Print(&console.Env{Stdout: &out, Getenv: func(string) string { return "" }}, r, "sarif"); err != nil {
			t.Fatal(err)
		}
		validSARIF(t, schema, out.String())
		var log struct {
			Runs []struct {
				Results []struct {
					RuleID, Level string
					Locations     []struct {
						PhysicalLocation struct {
							ArtifactLocation struct{ URI string }
							Region           struct{ StartLine int }
						}
					}
				}
			}
		}
		if err := json.Unmarshal([]byte(out.String()), &log); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, r := range log.Runs[0].Results {
			at := r.Locations[0].PhysicalLocation
			got[fmt.Sprint(r.RuleID, " ", at.ArtifactLocation.URI, " ", at.Region.StartLine)] = r.Level
		}
		for key, lane := range want {
			if level := map[string]string{"enforce": "error", "review": "note"}[lane]; got[key] != level {
				t.Errorf("%s: %s has the level %q, want %s", name, key, got[key], level)
			}
		}
	}
}
