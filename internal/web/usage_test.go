package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/usage"
)

func TestUsage(t *testing.T) {
	f := open(t, files)
	v := f.view()
	countList(f.usage, v, "editor")
	countList(f.usage, v, "editor")
	called(f.usage, v, "editor", "skill", []byte(`{"name":"Git"}`))
	called(f.usage, v, "editor", "skill", []byte(`{"name":"two:git"}`))
	called(f.usage, v, "", "read_file_in_skill", []byte(`{"skill_name":"git","file_path":"run.sh"}`))
	called(f.usage, v, "editor", "skill", []byte(`{"name":"nobody"}`))
	called(f.usage, v, "editor", "skill", []byte(`[]`))
	readResource(f.usage, v, "editor", "skill://one/git/SKILL.md")
	readResource(f.usage, v, "editor", "skill://one/git/run.sh")
	readResource(f.usage, v, "editor", "skill://one/lost/SKILL.md")
	tables := all(f.page("/usage"), tag("tbody"))
	var got [][]string
	for _, table := range tables {
		got = append(got, texts(all(table, tag("tr"))))
	}
	want := [][]string{{f.usage.Seen(v).Weeks[usage.Weeks-1].At.Format(time.DateOnly) + "32editor(3loaded,1read),unnamed(0loaded,1read)"}, {"git222editor(2loaded,1read),unnamed(0loaded,1read)", "git010editor(1loaded)", "Odd One200", "same200", "Blank % Name200"}, {"editor831", "unnamed001"}}
	for i := range got {
		for j := range got[i] {
			got[i][j] = strings.ReplaceAll(got[i][j], " ", "")
		}
	}
	for i := range want {
		for j := range want[i] {
			want[i][j] = strings.ReplaceAll(want[i][j], " ", "")
		}
	}
	if diff := cmp.Diff(want, got, cmp.Transformer("sorted", sortedRows)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// sortedRows returns the rows as a multiset, so that the order of equal rows does not
// matter.
func sortedRows(rows []string) map[string]int {
	m := map[string]int{}
	for _, r := range rows {
		m[r]++
	}
	return m
}

// TestUsageViews checks that each figure about usage has its list, on pages and in the API.
func TestUsageViews(t *testing.T) {
	f := open(t, files)
	v := f.view()
	called(f.usage, v, "editor", "skill", []byte(`{"name":"git"}`))
	called(f.usage, v, "editor", "read_file_in_skill", []byte(`{"skill_name":"git","file_path":"run.sh"}`))
	for range 2 {
		missed(f.usage, v, "", []byte(`{"skill_name":"Deploy"}`))
		missed(f.usage, v, "skill://nobody/SKILL.md", nil)
	}
	missed(f.usage, v, "once", nil)
	never := []string{"/skills/one/odd/", "/skills/one/same/", "/skills/one/secret/", "/skills/two/a%20b%2520c/"}
	var links []string
	for _, h := range all(f.page("/?used=never"), tag("h2")) {
		for _, a := range all(h, tag("a")) {
			links = append(links, attr(a, "href"))
		}
	}
	slices.Sort(links)
	if diff := cmp.Diff(never, links); diff != "" {
		t.Errorf("the list of skills never used: -want +got\n%s", diff)
	}
	for path, want := range map[string][]string{
		"/health":              {"4 skills never used", "2 names not found", "1 client got lists or skills", "in 1 of the last 26 weeks"},
		"/usage":               {"4 skills were never loaded or read", "deploy2", "skill://nobody/SKILL.md2", "They are lost when the server ends, since its settings name no usage.file."},
		"/skills/one/git/":     {"Usedloaded once, read once since "},
		"/skills/two/git/":     {"Usednever since "},
		"/?used=never":         {"Served, and never loaded or read since ", "Filters (1 on)"},
		"/?used=never&q=harm":  {"Nothing matches harm with these filters."},
		"/?used=often":         {"No skill passes these filters."},
		"/?left=nobody":        {"No skill passes these filters."},
		"/?cut=others&q=<b>":   {"Nothing matches"},
		"/?left=%3Cscript%3Ea": {"in the list of <script>a"},
	} {
		got := text(f.page(strings.ReplaceAll(path, "<b>", "%3Cb%3E")))
		for _, words := range want {
			if !strings.Contains(got, words) {
				t.Errorf("%s does not say %q:\n%s", path, words, got)
			}
		}
	}
	if got := text(f.page("/usage")); strings.Contains(got, "once") {
		t.Error("a name that was asked for once is shown")
	}
	var list struct{ Total int }
	if err := json.Unmarshal([]byte(f.get("/api/v1/skills?used=never").body), &list); err != nil || list.Total != len(never) {
		t.Errorf("the API lists %d, %v", list.Total, err)
	}
	f.usage.Keep(usage.InFile)
	if got := text(f.page("/usage")); !strings.Contains(got, "kept in a file") {
		t.Error(got)
	}
}

// TestUsageHidesSkills checks that a client sees no figure of a skill that a rule hides from
// it, not even among names that were not found.
func TestUsageHidesSkills(t *testing.T) {
	f := open(t, files)
	whole := f.view()
	policy := func(allow bool, rule access.Rule) context.Context {
		return catalog.WithFilter(t.Context(), access.NewPolicy(allow, []access.Rule{rule}).Filter(access.Subject{}))
	}
	some := policy(true, access.Rule{Deny: patterns(t, "skill://one/git/**")})
	narrow, err := f.catalog.View(some)
	must(t, err)
	for range 3 {
		called(f.usage, whole, "zed-of-admins", "skill", []byte(`{"name":"git"}`))
		missed(f.usage, narrow, "one:git", nil)                  // hidden from this client
		missed(f.usage, narrow, "skill://one/git/SKILL.md", nil) // by its URI
		missed(f.usage, narrow, "nowhere", nil)
	}
	get := func(ctx context.Context, path string) string {
		w := httptest.NewRecorder()
		f.site.ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", path, nil))
		if w.Code != 200 {
			t.Fatalf("%s: %d", path, w.Code)
		}
		return w.Body.String()
	}
	for _, path := range []string{"/usage", "/health", "/api/v1/usage", "/metrics"} {
		got := get(some, path)
		for _, word := range []string{"one:git", "one/git", "nowhere", "not found", "Not found", `"missing"`, "zed-of-admins"} {
			if strings.Contains(got, word) {
				t.Errorf("%s says %s to a client from whom a skill is hidden", path, word)
			}
		}
	}
	for name, ctx := range map[string]context.Context{
		"no rules": t.Context(), "allow all": policy(false, access.Rule{Allow: patterns(t, "skill://**")}), "other rules": policy(true, access.Rule{Groups: []string{"guests"}, Deny: patterns(t, "skill://**")}),
	} {
		if got := get(ctx, "/usage"); !strings.Contains(got, "<code>nowhere</code>") || strings.Contains(got, "one:git") || strings.Contains(got, "<code>skill://one/git") {
			t.Errorf("%s: a client that sees every skill sees the names\n%s", name, got)
		}
	}
	// A client that sees all skills now, but might not see all later, does not see the names
	// either.
	if got := get(policy(true, access.Rule{Deny: patterns(t, "skill://three/**")}), "/usage"); strings.Contains(got, "nowhere") {
		t.Error("the names are shown although a rule could hide a skill")
	}
}

func patterns(t *testing.T, all ...string) (out []access.Pattern) {
	t.Helper()
	for _, text := range all {
		p, err := access.ParsePattern(text)
		must(t, err)
		out = append(out, p)
	}
	return out
}

// TestWholeFacet checks that a filter with many values links to all of them.
func TestWholeFacet(t *testing.T) {
	laid := map[string]string{}
	for i := range 60 {
		laid[fmt.Sprintf("one/s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%d\ndescription: d\ntags: [tag-%d, all]\n---\n", i, i)
	}
	f := open(t, laid)
	facet := func(doc *html.Node) *html.Node {
		for _, s := range all(all(doc, class("facets"))[0], tag("section")) {
			if text(all(s, tag("h2"))[0]) == "Tag" {
				return s
			}
		}
		t.Fatal("no facet of tags")
		return nil
	}
	cut := facet(f.page("/?scope=project"))
	links := all(cut, tag("a"))
	last := links[len(links)-1]
	if len(links) != 28+1 || text(last) != "show all" || !strings.Contains(text(cut), "and 33 more; show all") {
		t.Fatalf("%d links, then %q: %s", len(links), text(last), text(cut))
	}
	if links := all(facet(f.page(attr(last, "href"))), tag("a")); len(links) != 61 || !strings.Contains(attr(links[60], "href"), "scope=project") {
		t.Errorf("%d links to tags, the last to %s", len(links), attr(links[len(links)-1], "href"))
	}
}

// TestListsOfFits checks that the health page links to all skills that a client's list cuts or
// leaves out.
func TestListsOfFits(t *testing.T) {
	f := open(t, large(400))
	seen := 0
	for _, p := range all(f.page("/health"), class("cut")) {
		links := all(p, tag("a"))
		last := links[len(links)-1]
		count, ok := strings.CutPrefix(text(last), "all ")
		if !ok {
			continue
		}
		seen++
		want := count + " skills"
		if got := text(all(f.page(attr(last, "href")), class("sum"))[0]); !strings.HasPrefix(got, want) {
			t.Errorf("%s lists %q, want %s", attr(last, "href"), got, want)
		}
	}
	if seen < 3 {
		t.Errorf("only %d lists", seen)
	}
}
