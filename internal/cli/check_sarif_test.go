package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/knack-dev/knack/internal/corpus"
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
	dirs := []string{writeSkills(t)}
	if corpus.Find() != "" {
		dirs = append(dirs, corpus.Dir(t, "edge"))
	}
	for _, dir := range dirs {
		out, _, code := ran(t, t.TempDir(), "check", "--format", "sarif", dir)
		if code != 1 {
			t.Errorf("exit status %d", code)
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

// writeSkills writes skills with findings of every severity, with and without a
// position.
func writeSkills(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"colon/SKILL.md":      "---\nname: colon\ndescription: a: b\n---\n",
		"none/SKILL.md":       "---\ndescription: d\nowner: me\n---\n[a](b c.md) [d](%20)\n",
		"with space/skill.md": "---\nname: with-space\ndescription: Use \u202eit\n---\n[a](../x)\n",
		"empty/SKILL.md":      "",
		"lines/deep/SKILL.md": "---\nname: deep\ndescription: d\n---\n" + strings.Repeat("\n", 600),
		"spelling/SkIlL.md":   "---\nname: spelling\ndescription: d\n---\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		put(t, path, text)
	}
	return dir
}
