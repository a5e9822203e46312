package web_test

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// shelves are skills of two publishers, with tags.
var shelves = map[string]string{
	"one/acme/harbour/SKILL.md": "---\nname: harbour\ndescription: Plans berths. Use for ships.\ntags: [Tide, plan]\n---\n" + strings.Repeat("Long text.\n", 50),
	"one/acme/anchor/SKILL.md":  "---\nname: anchor\ndescription: " + strings.Repeat("Says nothing yet. ", 25) + "Drops anchors in a storm.\nmetadata:\n  tags: tide\n---\n",
	"one/bolt/wrench/SKILL.md":  "---\nname: wrench\ndescription: Tightens <b>bolts</b> when asked.\n---\nShort.\n",
	"one/solo/SKILL.md":         "---\nname: Solo Skill\ndescription: Stands alone when asked.\n---\nText.\n",
}

func namesOf(doc *html.Node) (out []string) {
	for _, list := range all(doc, class("skills")) {
		for _, h := range all(list, tag("h2")) {
			out = append(out, text(all(h, tag("a"))[0]))
		}
	}
	return out
}

// TestOrders checks each order of the list, with and without a query.
func TestOrders(t *testing.T) {
	f := open(t, shelves)
	for name, day := range map[string]int{"acme/harbour": 2, "acme/anchor": 9, "bolt/wrench": 5, "solo": 1} {
		lay(t, f.dir, map[string]string{"one/" + name + "/SKILL.md": shelves["one/"+name+"/SKILL.md"] + "."})
		at := time.Date(2026, 3, day, 12, 0, 0, 0, time.UTC)
		must(t, os.Chtimes(filepath.Join(f.dir, "one", name, "SKILL.md"), at, at))
	}
	must(t, f.catalog.Refresh(t.Context()))
	f.get("/api/v1/skills?q=asked") // the API waits for the index, a page does not
	for range 3 {
		readResource(f.usage, f.view(), "a", "skill://one/solo/SKILL.md")
	}
	readResource(f.usage, f.view(), "a", "skill://one/bolt/wrench/SKILL.md")
	for path, want := range map[string][]string{
		"/":                     {"anchor", "harbour", "Solo Skill", "wrench"},
		"/?sort=name":           {"anchor", "harbour", "Solo Skill", "wrench"},
		"/?sort=changed":        {"anchor", "wrench", "harbour", "Solo Skill"},
		"/?sort=tokens":         {"harbour", "anchor", "wrench", "Solo Skill"},
		"/?sort=used":           {"Solo Skill", "wrench", "anchor", "harbour"},
		"/?sort=used&q=asked":   {"Solo Skill", "wrench"},
		"/?sort=tokens&q=asked": {"wrench", "Solo Skill"},
		"/?sort=none":           {"anchor", "harbour", "Solo Skill", "wrench"},
	} {
		if diff := cmp.Diff(want, namesOf(f.page(path))); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
	doc := f.page("/?sort=changed&tag=tide")
	var on []string
	for _, a := range all(doc, tag("a")) {
		if attr(a, "aria-current") == "true" && strings.HasPrefix(attr(a, "href"), "/?") {
			on = append(on, text(a)+" "+attr(a, "href"))
		}
	}
	if diff := cmp.Diff([]string{"tide 2 /?sort=changed", "last changed /?sort=changed&tag=tide"}, on); diff != "" {
		t.Errorf("what is on: -want +got\n%s", diff)
	}
	if got := text(all(doc, class("meta"))[0]); !strings.Contains(got, "changed 2026-03-09") {
		t.Errorf("the row says %q", got)
	}
	if got := texts(all(f.page("/?sort=used"), class("meta"))); !strings.Contains(got[0], "used 3 times") || !strings.Contains(got[1], "used once") || strings.Contains(got[2], "used") {
		t.Errorf("the rows say %q", got)
	}
}

// TestCollections checks the filters by collection and tag, and that a form keeps them.
func TestCollections(t *testing.T) {
	f := open(t, shelves)
	for path, want := range map[string][]string{
		"/?collection=acme":          {"anchor", "harbour"},
		"/?collection=bolt":          {"wrench"},
		"/?tag=tide":                 {"anchor", "harbour"},
		"/?tag=plan&collection=acme": {"harbour"},
		"/?tag=plan&collection=bolt": nil,
		"/?collection=none":          nil,
	} {
		if diff := cmp.Diff(want, namesOf(f.page(path))); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
	doc := f.page("/?collection=acme")
	choices := texts(all(all(doc, class("facets"))[0], tag("a")))
	for _, want := range []string{"acme 2", "bolt 1", "tide 2", "plan 1"} {
		if !slices.Contains(choices, want) {
			t.Errorf("there is no choice %q in %q", want, choices)
		}
	}
	var hidden []string
	for _, in := range all(f.page("/?collection=a%26b&tag=%22x&sort=used&state=fine"), tag("input")) {
		if attr(in, "type") == "hidden" {
			hidden = append(hidden, attr(in, "name")+"="+attr(in, "value"))
		}
	}
	if diff := cmp.Diff([]string{"state=fine", "collection=a&b", `tag="x`, "sort=used"}, hidden); diff != "" {
		t.Errorf("the form keeps: -want +got\n%s", diff)
	}
}

// TestManyTags checks that hostile tags neither flood nor break a page.
func TestManyTags(t *testing.T) {
	many := map[string]string{}
	for i := range 60 {
		name := "s" + strings.Repeat("x", i)
		many["one/"+name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: d\ntags: [\"</a><script>" + name + "\", \"" + strings.Repeat("long ", 100) + "\", \"\\u202e" + name + "\"]\n---\n"
	}
	a := open(t, many).get("/")
	if len(a.body) > 60_000 || strings.Contains(a.body, "<script>s") || strings.Contains(a.body, "\u202e") || strings.Contains(a.body, strings.Repeat("long ", 20)) {
		t.Errorf("%d bytes:\n%s", len(a.body), a.body)
	}
}

// TestHighlight checks that a list marks the words that the query found.
func TestHighlight(t *testing.T) {
	f := open(t, shelves)
	f.get("/api/v1/skills?q=bolt")
	marks := func(path string) (out []string) {
		for _, list := range all(f.page(path), class("skills")) {
			out = append(out, texts(all(list, tag("mark")))...)
		}
		return out
	}
	for query, want := range map[string][]string{
		"":              nil,
		"wrench":        {"wrench"},
		"bolt":          {"bolt"},
		"b":             {"b", "b"}, // only a whole word, not its beginning
		"tighten BOLT":  {"Tighten", "bolt"},
		"storm":         {"storm"},
		"anchor storms": {"anchor", "anchor", "storm"},
	} {
		if diff := cmp.Diff(want, marks("/?q="+url.QueryEscape(query))); diff != "" {
			t.Errorf("%s: -want +got\n%s", query, diff)
		}
	}
	if body := f.get("/?q=bolt").body; !strings.Contains(body, "&lt;b&gt;<mark>bolt</mark>s&lt;/b&gt;") {
		t.Errorf("a mark changes the markup of the page:\n%s", body)
	}
	if got := text(all(f.page("/?q=storm"), class("skills"))[0]); !strings.Contains(got, " … ") || !strings.Contains(got, "Drops anchors in a storm.") {
		t.Errorf("the row does not begin before the match: %q", got)
	}
}

// TestFirstSentence checks the introduction on the first page. It also checks that a page has
// exactly one live region, which is empty and not within the results.
func TestFirstSentence(t *testing.T) {
	f := open(t, shelves)
	if got := text(all(f.page("/"), class("intro"))[0]); !strings.HasPrefix(got, "A skill teaches an agent one task, step by step: ") {
		t.Errorf("it says %q", got)
	}
	doc := f.page("/?q=asked")
	live := all(doc, func(n *html.Node) bool { return attr(n, "role") == "status" || attr(n, "aria-live") != "" })
	if len(live) != 1 || text(live[0]) != "" || len(all(all(doc, func(n *html.Node) bool { return attr(n, "id") == "results" })[0], func(n *html.Node) bool { return attr(n, "role") == "status" })) != 0 {
		t.Errorf("%d live regions", len(live))
	}
}
