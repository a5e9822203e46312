package eval_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/test/skilltest"
)

// library returns the view of a catalogue of skills with files by path.
func library(t testing.TB, files map[string]string) catalog.View {
	t.Helper()
	return skilltest.View(t, skilltest.Catalog(t, skilltest.Project(files)))
}

// pdf returns the skill pdf with further files.
func pdf(t testing.TB, files map[string]string) *catalog.Entry {
	t.Helper()
	all := map[string]string{"pdf/SKILL.md": skilltest.Document("pdf", "Fills in forms.")}
	for name, content := range files {
		all["pdf/"+name] = content
	}
	return library(t, all).Named("pdf")
}

func TestCasesOf(t *testing.T) {
	const evals = `{"skill_name": "pdf", "evals": [
  {"id": 1, "prompt": "fill in a form", "expected_output": "a form", "files": ["a.pdf"]},
  {"prompt": "sign it"}
], "version": 2}`
	fromEvals := eval.Set{File: "evals/evals.json", Cases: []eval.Case{
		{Query: "fill in a form", ShouldTrigger: true, Line: 2}, {Query: "sign it", ShouldTrigger: true, Line: 3},
	}}
	fromTriggers := eval.Set{File: "evals/triggers.json", Cases: []eval.Case{{Query: "print", Line: 1}}}
	const triggers = `[{"query": "print", "should_trigger": false}]`
	for _, tt := range []struct {
		name  string
		files map[string]string
		want  eval.Set
	}{
		{"no file", nil, eval.Set{}},
		{"prompts of evals", map[string]string{"evals/evals.json": evals}, fromEvals},
		{"triggers", map[string]string{"evals/triggers.json": triggers}, fromTriggers},
		{"triggers come first", map[string]string{"evals/triggers.json": triggers, "evals/evals.json": evals}, fromTriggers},
		{"a faulty file that is not read", map[string]string{"evals/triggers.json": triggers, "evals/evals.json": "{"}, fromTriggers},
	} {
		got, err := eval.CasesOf(pdf(t, tt.files).Skill)
		if d := cmp.Diff(tt.want, got); d != "" || err != nil {
			t.Errorf("%s: %v, -want +got:\n%s", tt.name, err, d)
		}
	}
}

// TestFaults checks that each fault has its file, line, column and fix.
func TestFaults(t *testing.T) {
	const triggers, evals = "evals/triggers.json", "evals/evals.json"
	long := strings.Repeat("x", 64<<10)
	for _, tt := range []struct{ file, content, want string }{
		{triggers, ``, "1:1: the file is empty"},
		{triggers, `[]`, "1:1: there is no query"},
		{triggers, `{"query": "a"}`, "1:1: the file is not a list"},
		{triggers, "[\n  \"a\"\n]", "2:3: the query is not an object: { is expected"},
		{triggers, "[\n  {\"query\": \"a\"}\n]", "2:3: the query has no field should_trigger"},
		{triggers, "[\n  {\"should_trigger\": true}\n]", "2:3: the query has no field query"},
		{triggers, `[{"query": "a", "should_trigger": "yes"}]`, "1:35: should_trigger is not true or false"},
		{triggers, `[{"query": "a", "should_trigger": true, "should_trigger": false}]`, "1:41: the query has the field should_trigger twice"},
		{triggers, `[{"query": "", "should_trigger": true}]`, "1:12: query is empty"},
		{triggers, `[{"query": " ?! ", "should_trigger": true}]`, "1:12: query has no word"},
		{triggers, `[{"query": 7, "should_trigger": true}]`, "1:12: query is not a text in quotation marks"},
		{triggers, `[{"query": "a", "should_trigger": true, "skill": ""}]`, "1:50: skill is empty"},
		{triggers, `[{"query": "a", "should_trigger": true, "note": nul}]`, "1:49: this is not a value"},
		{triggers, `[{"query": "a", "should_trigger": true, "note": }]`, "1:49: this is not a value"},
		{triggers, `[{"query": "a", "should_trigger": true, "note": ` + strings.Repeat("[", 200), "1:150: lists and objects are more than 100 deep"},
		{triggers, `[{"query": "a` + long + `", "should_trigger": true}]`, "1:12: the text is too long; the limit is 65,536 bytes"},
		{triggers, `[{"query": "a", "should_trigger": true}`, `1:40: the file ends too early: "," or "]" is missing`},
		{triggers, "\xef\xbb\xbf[]", "1:1: the file begins with a byte-order mark"},
		{triggers, "[\n<<<<<<< ours\n", "2:1: the file has the conflict markers of a merge"},
		{triggers, "[" + strings.Repeat(`{"query": "a", "should_trigger": true},`, 1000) + `{"query": "a", "should_trigger": true}]`, "1:39035: there are more than 1,000 queries"},
		{evals, `[]`, "1:1: the file is not an object: { is expected"},
		{evals, `{"skill_name": "pdf"}`, "1:1: the file has no field evals"},
		{evals, `{"evals": []}`, "1:1: there is no query"},
		{evals, "{\"evals\": [\n {\"id\": 1}]}", "2:2: the eval has no field prompt"},
		{evals, `{"skill_name": "docx", "evals": [{"prompt": "a"}]}`, "1:16: the file is for the skill 'docx', and this one is 'pdf'"},
	} {
		_, err := eval.CasesOf(pdf(t, map[string]string{tt.file: tt.content}).Skill)
		var fault *eval.Error
		if !errors.As(err, &fault) || fault.Error() != tt.file+":"+tt.want || fault.Fix == "" {
			t.Errorf("%.80s\n got %v\nwant %s:%s, with a fix", tt.content, err, tt.file, tt.want)
		}
	}
}

// FuzzParse checks that each parsed case has a query and a line, and that a fault has a
// place.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`[{"query": "fill in", "should_trigger": true, "x": [{"y": -1.5e3}, "\ud83d\ude00"]}]`))
	f.Add([]byte("[\n{\"query\": \"a\", \"should_trigger\": false},\n]"))
	f.Add([]byte(`[{"a":[[[[[[`))
	f.Fuzz(func(t *testing.T, data []byte) {
		set, err := eval.Parse("f", data)
		if err != nil {
			var fault *eval.Error
			if !errors.As(err, &fault) || fault.Line < 1 || fault.Column < 1 || fault.Fix == "" {
				t.Errorf("%#v", err)
			}
			return
		}
		if len(set.Cases) == 0 || len(set.Cases) > eval.MaxCases {
			t.Errorf("%d cases", len(set.Cases))
		}
		last := 1
		for _, c := range set.Cases {
			if c.Query == "" || c.Line < last {
				t.Errorf("%+v", c)
			}
			last = c.Line
		}
	})
}
