package web_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
)

// BenchmarkFirstPages measures every kind of answer at 10,000 skills as the first one
// after a change of the tree: nothing of it was asked of that snapshot before, and the
// index of the search is being made at the same time. In "part" it is asked by one who
// sees most of the skills. The worst is worst-ms: a page is to take no more than 50.
func BenchmarkFirstPages(b *testing.B) {
	f := open(b, large(10_000))
	one := strings.TrimSuffix(strings.TrimPrefix(f.view().Listed[5000].URI.String(), "skill://"), "SKILL.md")
	if _, err := f.view().Search(b.Context(), catalog.Query{Text: "harbour"}); err != nil {
		b.Fatal(err)
	}
	pattern, err := access.ParsePattern("skill://one/*a*/**")
	if err != nil {
		b.Fatal(err)
	}
	policy := access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{pattern}}})
	changing := filepath.Join(f.dir, "one", "changing")
	n := 0
	change := func() {
		n++
		lay(b, changing, map[string]string{"SKILL.md": fmt.Sprintf("---\nname: changing\ndescription: The tide comes to the harbour %d times.\n---\n", n)})
		if err := f.catalog.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.Cleanup(func() { _ = os.RemoveAll(changing) })
	for _, who := range []string{"all", "part"} {
		for _, path := range slices.Concat(pagePaths(one), []string{"/api/v1/skills?limit=200", "/api/v1/problems", "/.well-known/agent-skills/index.json", "/metrics"}) {
			b.Run(who+strings.ReplaceAll(path, one, "ONE"), func(b *testing.B) {
				b.ReportAllocs()
				var worst time.Duration
				for b.Loop() {
					b.StopTimer()
					change()
					ctx := b.Context()
					if who == "part" {
						ctx = catalog.WithSight(ctx, policy.Sight(access.Subject{}))
					}
					b.StartTimer()
					begun := time.Now()
					askAs(ctx, b, f.site, path)
					worst = max(worst, time.Since(begun))
					b.StopTimer()
					v, _ := f.catalog.View(ctx)
					_, _ = v.Search(ctx, catalog.Query{Text: "harbour"}) // the index is made before the next change
					b.StartTimer()
				}
				b.ReportMetric(float64(worst)/1e6, "worst-ms")
			})
		}
	}
}
