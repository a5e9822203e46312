package knownitem

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
)

func TestQuestions(t *testing.T) {
	for _, tt := range []struct {
		ask           func() (tune, report []Question)
		each          int
		first, second string
	}{
		{Questions, 170, "analyse a RAM dump after an incident", "build hosted agents on azure ai foundry with python"},
		{Tasks, 100, "consume a high volume stream of events in python on azure with checkpoints", "read and write json documents in cosmos from node"},
		{Bodies, 50, "tell teammate agents when to message one and when to broadcast, and how to shut down", "write documentation that a model reads cheaply, with spec and bug blocks"},
	} {
		tune, report := tt.ask()
		if len(tune) != tt.each || len(report) != tt.each {
			t.Errorf("%d and %d questions", len(tune), len(report))
		}
		if tune[0].Query != tt.first || report[0].Query != tt.second {
			t.Errorf("begin with %+v and %+v", tune[0], report[0])
		}
	}
	if all := Fresh(); len(all) != 98 {
		t.Errorf("%d fresh questions", len(all))
	}
	seen := map[string]bool{}
	for _, q := range slices.Concat(halvesOf(Questions), halvesOf(Tasks), halvesOf(Bodies), Fresh()) {
		if q.Skill == "" || strings.TrimSpace(q.Query) != q.Query || len(strings.Fields(q.Query)) < 2 || seen[q.Skill] || seen[q.Query] || slices.Contains(q.Also, q.Skill) || slices.Contains(q.Also, "") {
			t.Errorf("%+v: incomplete, or there twice", q)
		}
		seen[q.Skill], seen[q.Query] = true, true
	}
}

func halvesOf(ask func() (tune, report []Question)) []Question {
	tune, report := ask()
	return slices.Concat(tune, report)
}

// TestMistyped checks that each question has at most one wrong letter, and that few questions stay
// unchanged.
func TestMistyped(t *testing.T) {
	_, report := Questions()
	was := map[string]string{}
	for _, q := range report {
		was[q.Skill] = q.Query
	}
	same, all := 0, Mistyped(report)
	for _, q := range all {
		d := typo.Distance(was[q.Skill], q.Query, 3)
		if d > 1 {
			t.Errorf("%q has become %q", was[q.Skill], q.Query)
		}
		if d == 0 {
			same++ // two equal letters swapped, or x replaced with x
		}
	}
	if len(all) < 160 || same > len(all)/20 {
		t.Errorf("%d questions, %d as they were", len(all), same)
	}
}

func TestMeasure(t *testing.T) {
	v := catalog.View{Snapshot: &catalog.Snapshot{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		v.Entries = append(v.Entries, &catalog.Entry{Skill: &skill.Skill{Name: name, Bundle: &skill.Bundle{Path: "in/" + name}}})
	}
	answers := map[string]string{"first": "a b c", "fourth": "b c d a a", "sixth": "b b b b b a", "never": "b c", "none": ""}
	ask := func(query string) ([]string, error) { return strings.Fields(answers[query]), nil }
	var all []Question
	for q := range answers {
		all = append(all, Question{Skill: "in/a", Query: q})
	}
	s, err := Measure(v, all, ask)
	if want := (1 + 1.0/4 + 1.0/6) / 5; err != nil || s.Recall != 0.4 || s.Rank < want-1e-9 || s.Rank > want+1e-9 || s.Results != 16.0/5 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := Measure(v, []Question{{Skill: "in/x", Query: "q"}}, ask); err == nil {
		t.Error("measures what is not there")
	}
	others := []Question{{Skill: "in/d", Query: "fourth", Also: []string{"in/c"}}, {Skill: "in/a", Query: "never", Also: []string{"in/d"}}}
	if s, err := Measure(v, others, ask); err != nil || s != (Score{Recall: 0.5, Rank: 0.25, Results: 3.5}) {
		t.Errorf("with others that serve as well: %v, %v", s, err)
	}
	if _, err := Measure(v, []Question{{Skill: "in/a", Query: "q", Also: []string{"in/x"}}}, ask); err == nil {
		t.Error("measures what is not there")
	}
	named, err := Named(v, "fourth\td, c\nnever\ta\n")
	if s, fails := Measure(v, named, ask); err != nil || fails != nil || s != (Score{Recall: 0.5, Rank: 0.25, Results: 3.5}) {
		t.Errorf("named: %v, %v, %v", s, err, fails)
	}
	for table, want := range map[string]string{"q\ta\nq a\n": "line 2: no tab", "q\ta,x\n": `line 1: the corpus has no skill "x"`} {
		if _, err := Named(v, table); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v", table, err)
		}
	}
	wrong := errors.New("no")
	if _, err := Measure(v, all, func(string) ([]string, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
}
