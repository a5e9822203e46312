package search_test

import (
	"context"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// corpus is a view on the corpus of real skills: KNACK_CORPUS, or beside the
// checkout. Continuous integration always has it.
func corpus(t testing.TB) catalog.View {
	t.Helper()
	at := os.Getenv("KNACK_CORPUS")
	if at == "" {
		at = "../../shared/corpus"
	}
	at, err := filepath.Abs(filepath.Join(at, "skills"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(at); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("no corpus, and this is continuous integration: %v", err)
		}
		t.Skipf("no corpus; set KNACK_CORPUS to its folder: %v", err)
	}
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: skill.Root{Label: "corpus", Scope: skill.ScopeProject, Dir: at}, Required: true})}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// question is one line of testdata/queries.tsv.
type question struct{ skill, query string }

// questions are the known-item queries: the odd lines, on which the ranking may
// be tuned, and the even ones, which only report.
func questions(t testing.TB) (tune, report []question) {
	t.Helper()
	f, err := os.Open("testdata/queries.tsv")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	r := csv.NewReader(f)
	r.Comma, r.LazyQuotes = '\t', true
	lines, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range lines[1:] {
		if i%2 == 0 {
			tune = append(tune, question{l[0], l[1]})
		} else {
			report = append(report, question{l[0], l[1]})
		}
	}
	return tune, report
}

// score is recall@5 and the mean reciprocal rank, over the first 100 hits.
type score struct{ recall, rank float64 }

func (s score) String() string { return fmt.Sprintf("recall@5 %.3f, MRR %.3f", s.recall, s.rank) }

// measure asks each question of a search that answers with names.
func measure(t testing.TB, v catalog.View, all []question, ask func(query string) []string) (s score) {
	t.Helper()
	named := map[string]string{}
	for _, e := range v.Entries {
		named[e.Path] = e.Name
	}
	for _, q := range all {
		if named[q.skill] == "" {
			t.Fatalf("the corpus has no %s", q.skill)
		}
		for i, name := range ask(q.query) {
			if name == named[q.skill] {
				if i < 5 {
					s.recall++
				}
				s.rank += 1 / float64(i+1)
				break
			}
		}
	}
	n := float64(len(all))
	return score{s.recall / n, s.rank / n}
}

func asker(t testing.TB, v catalog.View) func(string) []string {
	return func(query string) (names []string) {
		found, err := v.Search(context.Background(), catalog.Query{Text: query, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range found.Hits {
			names = append(names, h.Name)
		}
		return names
	}
}

// TestQuality is the promise of the ranking: of the questions on which it was not
// tuned, more than 85 of 100 have their skill among the first five, and the mean
// reciprocal rank is over 0.75.
func TestQuality(t *testing.T) {
	v := corpus(t)
	tune, report := questions(t)
	t.Logf("tuned on %d: %v", len(tune), measure(t, v, tune, asker(t, v)))
	s := measure(t, v, report, asker(t, v))
	t.Logf("measured on %d: %v", len(report), s)
	if s.recall <= 0.85 || s.rank <= 0.75 {
		t.Errorf("%v, want more than 0.85 and 0.75", s)
	}
}
