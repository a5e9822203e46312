package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// TestEvalEnds checks the output if a model fails in the middle of a run. It contains the earlier
// results, and the finished runs of each prompt.
func TestEvalEnds(t *testing.T) {
	t.Parallel()
	requests := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if requests++; requests > 3 {
			http.Error(w, `{"error": {"message": "no credit is left"}}`, http.StatusForbidden)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"skill","arguments":"{\"name\":\"pdf\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`+"\n\ndata: [DONE]\n\n")
	}))
	defer s.Close()
	out, errs, code := measures(t, s.URL, "")
	want := `with m
pdf: 3 prompts in evals/triggers.json, 2 runs each, among 1 skill; its description is whole in the list
  2 of 2  fill in a form
  1 of 1  merge two files
  passed: 2 of 2, 100 % (95 %: 34 to 100 %)
  recall: 2 of 2, 100 % (95 %: 34 to 100 %)
  false triggers: none
  3 requests, 30 tokens
`
	if out != want || code != 3 || !strings.Contains(errs, "no credit is left") {
		t.Errorf("exit status %d\n%s%s", code, out, errs)
	}
}

// TestEvalAsks checks that eval asks for consent before it makes many requests.
func TestEvalAsks(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		typed string
		code  int
		asked bool
	}{{"maybe\nYES\n", 0, true}, {"n\n", 3, false}, {"", 3, false}} {
		script := strings.Repeat("call skill {\"name\": \"pdf\"}\n", 12) + strings.Repeat("say Printed.\n", 6)
		s := startScripted(t, script)
		out, errs, code := measures(t, s.URL()+"/v1", tt.typed, "--runs", "6")
		if code != tt.code || len(s.Requests()) > 0 != tt.asked || strings.Contains(out, "recall: 2 of 2,") != tt.asked || !strings.Contains(errs, "18 conversations with m at 127.0.0.1:") {
			t.Errorf("%q: exit status %d, %d requests\n%s%s", tt.typed, code, len(s.Requests()), out, errs)
		}
	}
}

// measures runs knack eval for a skill with three prompts. A person types the given input.
func measures(t testing.TB, url, typed string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	home := t.TempDir()
	put(t, filepath.Join(home, "skills", "pdf", "SKILL.md"), "---\nname: pdf\ndescription: Fills in forms.\n---\n")
	put(t, filepath.Join(home, "skills", "pdf", "evals", "triggers.json"), `[
  {"query": "fill in a form", "should_trigger": true},
  {"query": "merge two files", "should_trigger": true},
  {"query": "print this page", "should_trigger": false}
]`)
	env := console.Env{Stdout: new(locked), Stderr: new(locked), Stdin: strings.NewReader(typed), StdinTerminal: true, StderrTerminal: true, Getenv: func(string) string { return "" }, Dir: home, Home: home, Local: nowhere{}}
	code = cli.Main(t.Context(), env, append([]string{"eval", "--url", url, "--model", "m", "--runs", "2", "--no-builtin", "--dir", "skills", "pdf"}, args...))
	return env.Stdout.(*locked).String(), env.Stderr.(*locked).String(), code
}

// TestEvalPage checks that doc/eval.md contains the output of the commands in its example. The
// script eval_doc.txtar runs them.
func TestEvalPage(t *testing.T) {
	page, err := os.ReadFile("../../doc/eval.md")
	if err != nil {
		t.Fatal(err)
	}
	script, err := txtar.ParseFile("testdata/script/eval_doc.txtar")
	if err != nil {
		t.Fatal(err)
	}
	outputs := 0
	for _, f := range script.Files {
		text := string(f.Data)
		switch {
		case strings.HasSuffix(f.Name, ".out"), strings.HasSuffix(f.Name, ".err"):
			outputs++
		case f.Name == "better.md":
			_, text, _ = strings.Cut(text, "name: trip-costs\n")
			text, _, _ = strings.Cut(text, "---")
		case f.Name != "skills/trip-costs/evals/triggers.json":
			continue
		}
		if !strings.Contains(string(page), text) {
			t.Errorf("doc/eval.md does not have %s:\n%s", f.Name, text)
		}
	}
	if outputs != 5 {
		t.Errorf("%d outputs", outputs)
	}
}
