package search_test

import (
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/corpus"
	"github.com/knack-dev/knack/internal/tools/knownitem"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// realSkills returns a view of the corpus of real skills.
func realSkills(t testing.TB) catalog.View {
	t.Helper()
	at := corpus.Dir(t, "skills")
	root := skill.Root{Label: "corpus", Scope: skill.ScopeProject, Dir: at}
	c := catalog.New([]catalog.Source{dir.New(dir.Options{Root: root, Required: true})}, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	v, err := c.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestQuality checks the promise of the ranking on queries that were not used for tuning. More than
// 85 % of them have their skill among the first five hits, and the mean reciprocal rank is over
// 0.75. The bounds in this test are stricter, just below the measured figures, so that it notices a
// small loss. A wrong letter may reduce the figures only a little.
func TestQuality(t *testing.T) {
	v := realSkills(t)
	measure := func(all []knownitem.Question) knownitem.Score {
		t.Helper()
		s, err := knownitem.Measure(v, all, func(query string) (names []string, err error) {
			found, err := v.Search(t.Context(), catalog.Query{Text: query})
			for _, h := range found.Hits {
				names = append(names, h.Name)
			}
			return names, err
		})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	tune, report := knownitem.Questions()
	tuneTasks, tasks := knownitem.Tasks()
	tuneBodies, bodies := knownitem.Bodies()
	if len(tune)+len(report) < 300 || len(tasks) < 100 {
		t.Fatalf("%d questions and %d tasks", len(tune)+len(report), len(tasks))
	}
	wrong := knownitem.Mistyped(report)
	t.Logf("the halves it was tuned on: %v, tasks %v, bodies %v", measure(tune), measure(tuneTasks), measure(tuneBodies))
	for _, tt := range []struct {
		name         string
		all          []knownitem.Question
		recall, rank float64
	}{
		{"the other half", report, 0.95, 0.90},
		{"that with a wrong letter each", wrong, 0.95, 0.90},
		{"tasks", tasks, 0.95, 0.88},
		{"bodies", bodies, 0.95, 0.90},
		{"fresh ones", knownitem.Fresh(), 0.95, 0.91},
	} {
		s := measure(tt.all)
		t.Logf("%s, %d: %v", tt.name, len(tt.all), s)
		if s.Recall < tt.recall || s.Rank < tt.rank {
			t.Errorf("%s: %v, want at least %.2f and %.2f", tt.name, s, tt.recall, tt.rank)
		}
	}
}
