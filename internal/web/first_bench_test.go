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
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/tool"
)

// BenchmarkFirstPages measures every kind of answer at 10,000 skills as the first request after a
// change of the tree. Nothing is cached for that snapshot, and the search index is built at the
// same time. In "part", the client sees most of the skills. In "start", the request is the first
// after the skills were read, so that the whole index is built. The metric worst-ms is the slowest
// answer in milliseconds; a page must not take more than 50.
func BenchmarkFirstPages(b *testing.B) {
	f := open(b, large(10_000))
	one := strings.TrimSuffix(strings.TrimPrefix(f.view().Listed[5000].URI().String(), "skill://"), "SKILL.md")
	if _, err := f.view().Search(b.Context(), catalog.Query{Text: "harbour"}); err != nil {
		b.Fatal(err)
	}
	pattern, err := access.ParsePattern("skill://one/*a*/**")
	must(b, err)
	policy := access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{pattern}}})
	changing := filepath.Join(f.dir, "one", "changing")
	tools, err := tool.ParseSets(tool.DefaultSet)
	must(b, err)
	used(f, f.view())
	n := 0
	change := func() {
		n++
		lay(b, changing, map[string]string{"SKILL.md": fmt.Sprintf("---\nname: changing\ndescription: The tide comes to the harbour %d times.\n---\n", n)})
		must(b, f.catalog.Refresh(b.Context()))
		countList(f.usage, f.view(), "one")
	}
	b.Cleanup(func() { _ = os.RemoveAll(changing) })
	paths := slices.Concat(pagePaths(one), []string{"/api/v1/skills?limit=200", "/api/v1/problems", "/api/v1/usage", "/.well-known/agent-skills/index.json", "/metrics"})
	for _, path := range paths {
		b.Run("start"+strings.ReplaceAll(path, one, "ONE"), func(b *testing.B) {
			b.ReportAllocs()
			var worst time.Duration
			for b.Loop() {
				b.StopTimer()
				c := catalog.New([]catalog.Source{folder(f.dir, "one")}, catalog.Options{})
				site := web.New(web.Options{Catalog: c, Tools: tools})
				must(b, c.Refresh(b.Context()))
				b.StartTimer()
				begun := time.Now()
				ask(b, site, path)
				worst = max(worst, time.Since(begun))
				b.StopTimer()
				v, _ := c.View(b.Context())
				_, _ = v.Search(b.Context(), catalog.Query{Text: "harbour"}) // the index is complete before the next start
				b.StartTimer()
			}
			b.ReportMetric(float64(worst)/1e6, "worst-ms")
		})
	}
	for _, who := range []string{"all", "part"} {
		for _, path := range paths {
			b.Run(who+strings.ReplaceAll(path, one, "ONE"), func(b *testing.B) {
				b.ReportAllocs()
				var worst time.Duration
				for b.Loop() {
					b.StopTimer()
					change()
					ctx := b.Context()
					if who == "part" {
						ctx = catalog.WithFilter(ctx, policy.Filter(access.Subject{}))
					}
					b.StartTimer()
					begun := time.Now()
					askAs(ctx, b, f.site, path)
					worst = max(worst, time.Since(begun))
					b.StopTimer()
					v, _ := f.catalog.View(ctx)
					_, _ = v.Search(ctx, catalog.Query{Text: "harbour"}) // the index is complete before the next change
					b.StartTimer()
				}
				b.ReportMetric(float64(worst)/1e6, "worst-ms")
			})
		}
	}
}
