package tool

import (
	"encoding/json"
	"io/fs"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool/internal/listing"
)

// errorLines bounds the lines of an error. An error of contract 003 also has the list and a hint.
func errorLines(tool string) int {
	if tool == "Skill" {
		return 16
	}
	return 2
}

// canary is the content of a file beside the skills, which no call may reach.
const canary = "canary-4be1f0"

// FuzzToolArguments checks for any arguments of any tool that the answer is bounded text,
// that errors are short, and that no file outside is opened.
func FuzzToolArguments(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{}", "[]", "{", `{"name":"git"}`, `{"name":""}`, `{"command":"git","name":"git"}`, `{"name":"skill://claude-project/calculator/SKILL.md"}`,
		`{"skill_name":"calculator","file_path":"../../canary"}`, `{"skill_name":"calculator","file_path":"docs"}`, `{"skill_name":"..","file_path":"canary"}`,
		`{"skill_name":"calculator","file_path":"\\..\\canary"}`, `{"query":"adds","limit":3,"cursor":"1"}`, `{"limit":1e99}`, `{"name":"\u0000\u202e\ud800"}`,
		`{"uri":"skill://claude-project/calculator/SKILL.md"}`, `{"uri":"skill://a:b@c/?x#y"}`, `{"name":{"name":{"name":[]}}}`, `{"name":"git","name":"x"}`,
	} {
		f.Add([]byte(seed))
	}
	root := calculators()
	root.Put("canary", canary)
	w := &watching{FS: root.Files}
	root.FS = w
	h := hostOf(f, root)
	var tools []*Tool
	for _, set := range SetNames() {
		served, err := ParseSets(set)
		if err != nil {
			f.Fatal(err)
		}
		tools = append(tools, served...)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, tl := range tools {
			r, err := tl.Call(t.Context(), h, json.RawMessage(in))
			if err != nil {
				t.Fatalf("%s fails: %v", tl.Name, err)
			}
			if strings.Contains(r.Text, canary) {
				t.Fatalf("%s reads outside: %q", tl.Name, r.Text)
			}
			if !utf8.ValidString(r.Text) || len(r.Text) > 3*listing.Budget {
				t.Fatalf("%s answers %d bytes: %.200q", tl.Name, len(r.Text), r.Text)
			}
			if r.IsError {
				checkError(t, tl.Name, r.Text)
			}
			if _, err := json.Marshal(r.Object); err != nil {
				t.Fatalf("%s: the object has no JSON form: %v", tl.Name, err)
			}
		}
		if bad := w.taken(); len(bad) > 0 {
			t.Fatalf("%q opens %q", in, bad)
		}
	})
}

func checkError(t *testing.T, name, text string) {
	t.Helper()
	if strings.Count(text, "\n") >= errorLines(name) || len(text) > 8192 || text == "" {
		t.Fatalf("%s: an error of %d bytes and %d lines: %.300q", name, len(text), 1+strings.Count(text, "\n"), text)
	}
	if i := strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) && r != '\n' }); i >= 0 {
		t.Fatalf("%s: an error with a control character: %q", name, text)
	}
}

// watching records every opened name that is not a skill's file.
type watching struct {
	fs.FS
	mu  sync.Mutex
	bad []string
}

func (w *watching) Open(name string) (fs.File, error) {
	first, rest, _ := strings.Cut(name, "/")
	if !fs.ValidPath(name) || rest == "" && first == "canary" || strings.Contains("/"+rest, "/.") {
		w.mu.Lock()
		w.bad = append(w.bad, name)
		w.mu.Unlock()
	}
	return w.FS.Open(name)
}

func (w *watching) Sub(dir string) (fs.FS, error) { return skilltest.Below(w, dir), nil }

func (w *watching) taken() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	bad := w.bad
	w.bad = nil
	return bad
}
