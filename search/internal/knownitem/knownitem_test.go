package knownitem

import (
	"errors"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
)

func TestQuestions(t *testing.T) {
	tune, report := Questions()
	if len(tune) != 170 || len(report) != 170 {
		t.Errorf("%d and %d questions", len(tune), len(report))
	}
	seen := map[string]bool{}
	for _, q := range append(tune, report...) {
		if q.Skill == "" || strings.TrimSpace(q.Query) != q.Query || len(strings.Fields(q.Query)) < 2 || seen[q.Skill] || seen[q.Query] {
			t.Errorf("%+v: incomplete, or there twice", q)
		}
		seen[q.Skill], seen[q.Query] = true, true
	}
	if tune[0].Query != "analyse a RAM dump after an incident" || report[0].Query != "build hosted agents on azure ai foundry with python" {
		t.Errorf("begin with %+v and %+v", tune[0], report[0])
	}
}

// Exactly one letter is wrong.
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
			same++ // two equal letters swapped, or x for x
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
		all = append(all, Question{"in/a", q})
	}
	s, err := Measure(v, all, ask)
	if want := (1 + 1.0/4 + 1.0/6) / 5; err != nil || s.Recall != 0.4 || s.Rank < want-1e-9 || s.Rank > want+1e-9 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := Measure(v, []Question{{"in/x", "q"}}, ask); err == nil {
		t.Error("measures what is not there")
	}
	wrong := errors.New("no")
	if _, err := Measure(v, all, func(string) ([]string, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("%v", err)
	}
}
