package web_test

import (
	"context"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/tools/genskills"
	"github.com/knack-dev/knack/internal/web"
)

// large returns n realistic skills, some of them shadowed, skipped or not published.
func large(n int) map[string]string {
	o := genskills.Options{Seed: 8, Faults: 0.12, Collisions: 0.1, MainOnly: true}
	many := make(map[string]string, n)
	for i := range n {
		s := o.At(i)
		many["one/"+s.Path+"/"+s.Files[0].Path] = string(s.Files[0].Data)
	}
	return many
}

// BenchmarkPages measures every kind of answer at 10,000 skills. [BenchmarkFirstPages] measures the
// first answers after a change.
func BenchmarkPages(b *testing.B) {
	f := open(b, large(10_000))
	v := f.view()
	if _, err := v.Search(b.Context(), catalog.Query{Text: "harbour"}); err != nil {
		b.Fatal(err) // the index is built before the first request
	}
	used(f, v)
	b.Logf("%d skills, %d listed, %d skipped", len(v.Entries), len(v.Listed), len(v.Skipped))
	var one string
	for _, e := range v.Listed[5000:] {
		one = strings.TrimSuffix(strings.TrimPrefix(e.URI().String(), "skill://"), "SKILL.md")
		break
	}
	for _, path := range slices.Concat(pagePaths(one), []string{"/api/v1/skills?limit=200", "/api/v1/skills?q=harbour", "/api/v1/problems", "/api/v1/usage", "/.well-known/agent-skills/index.json", "/metrics"}) {
		b.Run(strings.ReplaceAll(path, one, "ONE"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(b, f.site, path)
			}
		})
	}
}

// pagePaths returns a path for each kind of page. one is the path of a skill, with a
// trailing slash.
func pagePaths(one string) []string {
	return []string{
		"/", "/?page=150", "/?q=harbour+tide", "/?q=ancor&scope=project", "/?state=problems", "/?used=never", "/?left=others", "/?all=tag", "/health", "/usage", "/connect",
		"/skills/" + one, "/skills/" + one + "?view=files", "/skills/" + one + "?view=agent", "/skills/" + one + "?view=problems",
	}
}

// used records for each of three clients a list, and the use of a fifth of the skills.
func used(f *fixture, v catalog.View) {
	for _, client := range []string{"one", "two", "three"} {
		countList(f.usage, v, client)
		for i, e := range v.Listed {
			if i%5 == 0 {
				readResource(f.usage, v, client, e.URI().String())
			}
		}
	}
}

func ask(b *testing.B, site *web.Site, path string) {
	b.Helper()
	askAs(b.Context(), b, site, path)
}

// askAs requests path with the rights that the context holds.
func askAs(ctx context.Context, b *testing.B, site *web.Site, path string) {
	b.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
	if w.Code != 200 {
		body, _ := io.ReadAll(w.Body)
		b.Fatalf("%s: %d %.200s", path, w.Code, body)
	}
}
