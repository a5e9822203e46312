package eval_test

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/llm/eval"
	"github.com/knack-dev/knack/internal/test/skilltest"
)

func TestRank(t *testing.T) {
	v := library(t, map[string]string{
		"pdf/SKILL.md":   skilltest.Document("pdf", "Fills in forms."),
		"docx/SKILL.md":  skilltest.Document("docx", "Writes letters and forms."),
		"xlsx/SKILL.md":  skilltest.Document("xlsx", "Sums up columns; fills in forms, forms and forms."),
		"paper/SKILL.md": skilltest.Document("paper", "Orders forms and letters on paper."),
	})
	cases := []eval.Case{
		{Query: "pdf", ShouldTrigger: true, Line: 1},
		{Query: "write letters or forms", ShouldTrigger: true, Line: 2},
		{Query: "bake bread", ShouldTrigger: true, Line: 3},
		{Query: "pdf", Line: 4},
	}
	all, err := eval.Rank(t.Context(), v, v.Named("pdf"), cases)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range all {
		var first []string
		for _, e := range r.Top {
			first = append(first, e.Name)
		}
		got = append(got, fmt.Sprintf("%d: %d %v %v", r.Line, r.Rank, r.Passed(), first))
	}
	want := []string{"1: 1 true [pdf]", "2: 0 false [docx paper]", "3: 0 false []", "4: 1 true [pdf]"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if again, err := eval.Rank(t.Context(), v, v.Named("pdf"), cases); err != nil || !cmp.Equal(all, again, cmp.Comparer(func(a, b *catalog.Entry) bool { return a == b })) {
		t.Errorf("another time: %v, %v", again, err)
	}
}

// TestRate checks that the intervals are Wilson score intervals without a correction. The wanted
// values were computed by hand.
func TestRate(t *testing.T) {
	for _, tt := range []struct {
		rate      eval.Rate
		low, high float64
		text      string
	}{
		{eval.Rate{}, 0, 1, "none"},
		{eval.Rate{Hits: 9, Of: 21, Prompts: 7}, 0.1582, 0.7495, "3 of 7, 43 % (95 %: 16 to 75 %)"},
		{eval.Rate{Hits: 8, Of: 21, Prompts: 7}, 0.1310, 0.7153, "2.7 of 7, 38 % (95 %: 13 to 72 %)"},
		{eval.Rate{Hits: 0, Of: 10}, 0, 0.2775, "0 of 10, 0 % (95 %: 0 to 28 %)"},
		{eval.Rate{Hits: 10, Of: 10}, 0.7225, 1, "10 of 10, 100 % (95 %: 72 to 100 %)"},
		{eval.Rate{Hits: 5, Of: 10}, 0.2366, 0.7634, "5 of 10, 50 % (95 %: 24 to 76 %)"},
		{eval.Rate{Hits: 81, Of: 263}, 0.2553, 0.3662, "81 of 263, 31 % (95 %: 26 to 37 %)"},
	} {
		low, high := tt.rate.Interval()
		if math.Abs(low-tt.low) > 5e-5 || math.Abs(high-tt.high) > 5e-5 || tt.rate.String() != tt.text {
			t.Errorf("%+v: %.4f to %.4f, %s", tt.rate, low, high, tt.rate)
		}
	}
	data, err := json.Marshal(eval.Rate{Hits: 2, Of: 3})
	if want := `{"hits":2,"of":3,"rate":0.667,"low":0.208,"high":0.939}`; err != nil || string(data) != want {
		t.Errorf("%s, %v, want %s", data, err, want)
	}
}

// TestSample checks that a sample has the skill and n others, which are the same for every skill,
// and that a skill with other skills in its folder is not hidden.
func TestSample(t *testing.T) {
	files := map[string]string{"s00/inner/SKILL.md": skilltest.Document("inner", "Is in the folder of another.")}
	for i := range 20 {
		name := fmt.Sprintf("s%02d", i)
		files[name+"/SKILL.md"] = skilltest.Document(name, "Does number "+name+".")
	}
	c := skilltest.Catalog(t, skilltest.Project(files))
	all := skilltest.View(t, c).Listed
	sample := func(skill string, n int) (names []string) {
		e := skilltest.View(t, c).Named(skill)
		v, err := c.View(catalog.WithFilter(t.Context(), eval.Sample(all, e, n)))
		if err != nil || v.Named(skill) == nil {
			t.Fatalf("%s among %d: %v", skill, n, err)
		}
		for _, e := range v.Listed {
			names = append(names, e.Name)
		}
		return names
	}
	five := sample("s19", 5)
	if want := slices.Contains(five, "s00"); len(five) != 6 && !want || len(five) > 7 {
		t.Errorf("among 5: %v", five)
	}
	for i := range 19 {
		name := fmt.Sprintf("s%02d", i)
		var missing int
		for _, o := range five {
			if o != "s19" && !slices.Contains(sample(name, 5), o) {
				missing++
			}
		}
		if missing > 0 && !slices.Contains(five, name) {
			t.Errorf("%s: the sample of s19 has %v, its own %v", name, five, sample(name, 5))
		}
	}
	if got := sample("s00", 3); !slices.Contains(got, "inner") {
		t.Errorf("s00 without the skill in its folder: %v", got)
	}
	if got := sample("s07", 1000); len(got) != 21 {
		t.Errorf("among all: %v", got)
	}
}
