package report_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/corpus"
	"github.com/knack-dev/knack/internal/skilltest"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// sarifSchema reads the published schema. It is a draft 4 schema, which draft 7 reads alike
// except for the name of its id.
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
		var log map[string]any
		if err := json.Unmarshal([]byte(out), &log); err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(log); err != nil {
			t.Errorf("not valid SARIF: %.2000s", err)
		}
		run := log["runs"].([]any)[0].(map[string]any)
		rules := run["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
		results := run["results"].([]any)
		if len(results) < 4 {
			t.Errorf("only %d results", len(results))
		}
		for _, r := range results {
			r := r.(map[string]any)
			if rule := rules[int(r["ruleIndex"].(float64))].(map[string]any); rule["id"] != r["ruleId"] {
				t.Errorf("the index of %s is that of %s", r["ruleId"], rule["id"])
			}
		}
	}
}
