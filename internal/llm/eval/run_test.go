package eval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/llm/model"
	"github.com/knack-dev/knack/internal/test/skilltest"
	"github.com/knack-dev/knack/tool"
)

// script is a model that follows a script. Each line is an answer: a text, or calls of the form
// NAME ARGUMENTS, separated by " & ".
type script struct{ lines []string }

var errScript = errors.New("the script is at its end")

func (s *script) Answer(context.Context, model.Request, func(string)) (model.Answer, error) {
	if len(s.lines) == 0 {
		return model.Answer{}, errScript
	}
	line := s.lines[0]
	s.lines = s.lines[1:]
	m := model.Message{Role: model.Assistant}
	if !strings.Contains(line, " {") {
		m.Text = line
	} else {
		for i, call := range strings.Split(line, " & ") {
			name, arguments, _ := strings.Cut(call, " ")
			m.Calls = append(m.Calls, model.Call{ID: fmt.Sprint(len(s.lines), "-", i), Name: name, Arguments: json.RawMessage(arguments)})
		}
	}
	return model.Answer{Message: m, Usage: model.Usage{Input: 90, Output: 10, Estimated: strings.HasPrefix(line, "Estimated")}}, nil
}

// measured returns a model with a library of three skills, one of which refers to the
// others.
func measured(t testing.TB, set string, lines ...string) (*eval.Model, catalog.View) {
	t.Helper()
	tools, err := tool.ParseSets(set)
	if err != nil {
		t.Fatal(err)
	}
	c := skilltest.Catalog(t, skilltest.Project(map[string]string{
		"pdf/SKILL.md": skilltest.Document("pdf", "Fills in forms."), "pdf/forms.md": "Forms.",
		"docx/SKILL.md":  skilltest.Document("docx", "Writes letters."),
		"guide/SKILL.md": skilltest.Document("guide", "Finds skills."),
	}))
	m := &eval.Model{Host: tool.NewHost(c), Tools: tools, Model: &script{lines}, Guide: func(e *catalog.Entry) bool { return e.Name == "guide" }}
	return m, skilltest.View(t, c)
}

func TestAsk(t *testing.T) {
	const (
		pdf   = `skill {"name": "pdf"}`
		docx  = `skill {"name": "docx"}`
		find  = `find_skills {"query": "forms"}`
		again = `find_skills {"query": "fill"}`
	)
	for _, tt := range []struct {
		name, set string
		lines     []string
		want      string // the skills, requests, calls, tokens
	}{
		{"at once", "default", []string{pdf, docx}, "[pdf] 1 1 100"},
		{"another one", "default", []string{docx}, "[docx] 1 1 100"},
		{"found first", "default", []string{find, pdf}, "[pdf] 2 2 200"},
		{"an answer", "default", []string{"Here you are."}, "[] 1 0 100"},
		{"an answer after a search", "default", []string{find, "Estimated: 2 forms."}, "[] 2 1 200 estimated"},
		{"three requests", "default", []string{find, again, find, pdf}, "[] 3 3 300"},
		{"the same again and again", "default", []string{find, find, find, pdf}, "[] 3 3 300"},
		{"a name that no skill has", "default", []string{`skill {"name": "pdfs"}`, pdf}, "[pdf] 2 2 200"},
		{"a tool that there is not", "default", []string{`load {"name": "pdf"}`, "No."}, "[] 2 1 200"},
		{"two at once", "default", []string{docx + " & " + pdf}, "[docx pdf] 1 2 100"},
		{"a file of it", "default", []string{`read_file_in_skill {"skill_name": "pdf", "file_path": "forms.md"}`}, "[pdf] 1 1 100"},
		{"a file that there is not", "default", []string{`read_file_in_skill {"skill_name": "pdf", "file_path": "no.md"}`, "No."}, "[] 2 1 200"},
		{"by URI", "default", []string{`skill {"name": "skill://claude-project/pdf/SKILL.md"}`}, "[pdf] 1 1 100"},
		{"the guide, then the skill", "default", []string{`skill {"name": "guide"}`, pdf}, "[guide pdf] 2 2 200"},
		{"the guide alone", "default", []string{`skill {"name": "guide"}`, "Done."}, "[guide] 2 1 200"},
		{"runner", "runner", []string{`list_skills {}`, `get_skill {"skill_name": "pdf"}`}, "[pdf] 2 2 200"},
		{"universal", "universal", []string{pdf}, "[pdf] 1 1 100"},
		{"wave", "wave", []string{`Skill {"skill_name": "pdf"}`}, "[pdf] 1 1 100"},
		{"uri", "uri", []string{`list_skills {}`, `get_skill {"uri": "skill://claude-project/pdf/SKILL.md"}`}, "[pdf] 2 2 200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := measured(t, tt.set, tt.lines...)
			run, err := m.Ask(t.Context(), "fill in a form")
			names := []string{}
			for _, e := range run.Taken {
				names = append(names, e.Name)
			}
			got := fmt.Sprint(names, run.Requests, run.Calls, run.Tokens)
			if run.Estimated {
				got += " estimated"
			}
			if got != tt.want || err != nil {
				t.Errorf("%s, %v, want %s", got, err, tt.want)
			}
		})
	}
}

// TestAskAmong checks that a model sees and loads only the skills that the context shows.
func TestAskAmong(t *testing.T) {
	m, v := measured(t, "default", `skill {"name": "docx"}`, "No.", `skill {"name": "pdf"}`)
	ctx := catalog.WithFilter(t.Context(), &catalog.Filter{Visible: func(e *catalog.Entry) bool { return e.Name == "pdf" }})
	if run, err := m.Ask(ctx, "write a letter"); err != nil || len(run.Taken) != 0 {
		t.Errorf("a hidden skill: %+v, %v", run, err)
	}
	if run, err := m.Ask(ctx, "fill in a form"); err != nil || !run.Took(v.Named("pdf")) {
		t.Errorf("%+v, %v", run, err)
	}
}

func TestTried(t *testing.T) {
	v := library(t, map[string]string{"pdf/SKILL.md": skilltest.Document("pdf", "d"), "docx/SKILL.md": skilltest.Document("docx", "d")})
	took := func(names ...string) (tried eval.Tried) {
		for _, name := range names {
			var r eval.Run
			if e := v.Named(name); e != nil {
				r.Taken = append(r.Taken, e)
			}
			tried.Runs = append(tried.Runs, r)
		}
		return tried
	}
	for _, tt := range []struct {
		tried              eval.Tried
		rate               eval.Rate
		should, should_not bool
	}{
		{took("pdf", "pdf", "docx"), eval.Rate{Hits: 2, Of: 3}, true, false},
		{took("pdf", "docx"), eval.Rate{Hits: 1, Of: 2}, true, false},
		{took("pdf", "docx", "none"), eval.Rate{Hits: 1, Of: 3}, false, true},
		{took("none", "none"), eval.Rate{Of: 2}, false, true},
	} {
		e := v.Named("pdf")
		if got := tt.tried.Triggered(e); !cmp.Equal(got, tt.rate) {
			t.Errorf("%v, want %v", got, tt.rate)
		}
		for should, want := range map[bool]bool{true: tt.should, false: tt.should_not} {
			if tt.tried.ShouldTrigger = should; tt.tried.Passed(e) != want {
				t.Errorf("%v, should trigger: %v, passed: %v", tt.rate, should, !want)
			}
		}
	}
}
