package web_test

import (
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/web"
)

// large are n skills of the median size of real ones, of which some are shadowed,
// skipped, and not published.
func large(n int) map[string]string {
	words := strings.Fields("harbour tide berth vessel crane cargo pilot signal chart anchor draught mooring ledger invoice customs weather quay lock buoy radio")
	many := map[string]string{}
	for i := range n {
		w := func(k int) string { return words[(i*7+k*(i%13+1))%len(words)] }
		name := fmt.Sprintf("%s-%s-%d", w(1), w(2), i)
		description := strings.Repeat(fmt.Sprintf("Handle the %s of a %s with its %s. Use when a %s asks for %s. ", w(3), w(4), w(5), w(6), w(7)), 3)
		head := "name: " + name
		if i%100 == 3 {
			head = "nam: x"
		}
		if i%50 == 7 {
			head = "name: " + strings.ToUpper(name)
		}
		many[fmt.Sprintf("one/group-%d/%s/SKILL.md", i%50, name)] = "---\n" + head + "\ndescription: " + description + "\n---\n# " + name + "\n\n" + strings.Repeat("Some *text* with a [link](file.md) in it.\n\n", 120)
	}
	for i := range n / 100 {
		name := fmt.Sprintf("%s-%s-%d", words[(i*7+i%13+1)%len(words)], words[(i*7+2*(i%13+1))%len(words)], i)
		many["two/"+name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: Another.\n---\n"
	}
	return many
}

// BenchmarkPages measures every kind of answer at 10,000 skills. The first of each
// after a change is in it as "fresh".
func BenchmarkPages(b *testing.B) {
	f := open(b, large(10_000))
	v := f.view()
	b.Logf("%d skills, %d listed, %d skipped", len(v.Entries), len(v.Listed), len(v.Skipped))
	var one string
	for _, e := range v.Listed[5000:] {
		one = strings.TrimSuffix(strings.TrimPrefix(e.URI.String(), "skill://"), "SKILL.md")
		break
	}
	for _, path := range []string{
		"/", "/?page=150", "/?q=harbour+tide", "/?q=ancor&scope=project", "/?state=problems", "/health", "/usage", "/connect",
		"/skills/" + one, "/skills/" + one + "?view=files", "/skills/" + one + "?view=agent", "/skills/" + one + "?view=problems",
		"/api/v1/skills?limit=200", "/api/v1/skills?q=harbour", "/api/v1/problems", "/metrics",
	} {
		b.Run(strings.ReplaceAll(path, one, "ONE"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(b, f.site, path)
			}
		})
	}
	b.Run("fresh/health", func(b *testing.B) {
		tools, err := tool.ParseSets(tool.DefaultSet)
		if err != nil {
			b.Fatal(err)
		}
		c := catalog.New([]catalog.Source{folder(f.dir, "one")}, catalog.Options{})
		if err := c.Refresh(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			site := web.New(web.Options{Catalog: c, Tools: tools})
			b.StartTimer()
			ask(b, site, "/health")
		}
	})
}

func ask(b *testing.B, site *web.Site, path string) {
	b.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	if w.Code != 200 {
		body, _ := io.ReadAll(w.Body)
		b.Fatalf("%s: %d %.200s", path, w.Code, body)
	}
}
