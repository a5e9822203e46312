package web_test

import (
	"archive/zip"
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"
)

// TestContents checks the list of contents, whose links lead to headings of the page.
func TestContents(t *testing.T) {
	f := open(t, map[string]string{
		"one/long/SKILL.md":  "---\nname: long\ndescription: d\n---\n# Title\n\n## First <b>*one*</b>\n\n### Below\n\n#### Deep\n\n## Second `two` [link](x.md) &amp; more\n\n## First *one*\n\n> ## In a quote\n",
		"one/short/SKILL.md": "---\nname: short\ndescription: d\n---\n# Title\n\n## First\n\n## Second\n",
	})
	doc := f.page("/skills/one/long/")
	var got []string
	for _, a := range all(all(doc, class("contents"))[0], tag("a")) {
		got = append(got, text(a)+" "+attr(a, "href"))
		id := strings.TrimPrefix(attr(a, "href"), "#")
		if len(all(doc, func(n *html.Node) bool { return attr(n, "id") == id })) != 1 {
			t.Errorf("%q leads nowhere", attr(a, "href"))
		}
	}
	if diff := cmp.Diff([]string{"First one #md-first-boneb", "Below #md-below", "Second two link & more #md-second-two-linkxmd-amp-more", "First one #md-first-one"}, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if n := len(all(f.page("/skills/one/short/"), class("contents"))); n != 0 {
		t.Error("a short text has a list of contents")
	}
}

// TestLines checks that each line of a source can be linked to.
func TestLines(t *testing.T) {
	f := open(t, files)
	for path, want := range map[string]int{"/skills/one/git/?view=source": 11, "/skills/one/git/run.sh": 2} {
		doc := f.page(path)
		for i, l := range all(doc, class("l")) {
			n := attr(l, "id")
			if link := all(l, tag("a")); n == "" || len(link) != 1 || attr(link[0], "href") != "#"+n || attr(link[0], "tabindex") != "-1" {
				t.Errorf("%s: line %d is %q", path, i+1, n)
			}
		}
		if got := len(all(doc, class("l"))); got != want {
			t.Errorf("%s has %d lines, want %d", path, got, want)
		}
	}
	if got := all(all(f.page("/skills/one/odd/?view=problems"), class("findings"))[0], tag("a")); len(got) == 0 || attr(got[0], "href") != "/skills/one/odd/?view=source#L2" {
		t.Errorf("a finding does not link to its line")
	}
}

// TestAbout checks the breadcrumbs, the date, the mentions and the tags on a skill's page.
func TestAbout(t *testing.T) {
	f := open(t, map[string]string{
		"one/team/git/SKILL.md":   "---\nname: git\ndescription: d\ntags: Vcs, daily\n---\nUse `code-review`, not `git` or `none-such`; see [that](../notes/SKILL.md).\n",
		"one/team/notes/SKILL.md": "---\nname: notes\ndescription: d\n---\n",
		"two/make/SKILL.md":       "---\nname: make\ndescription: d\n---\n", // more often a command than a skill
		"two/code/SKILL.md":       "---\nname: code-review\ndescription: d\n---\n",
	})
	at := time.Date(2026, 2, 3, 4, 5, 6, 0, time.UTC)
	lay(t, f.dir, map[string]string{"one/team/git/SKILL.md": "---\nname: git\ndescription: d\ntags: Vcs, daily\n---\nUse `code-review`, not `git`, `notes`, `make` or `none-such`; see [that](../notes/SKILL.md).\n"})
	must(t, os.Chtimes(filepath.Join(f.dir, "one", "team", "git", "SKILL.md"), at, at))
	must(t, f.catalog.Refresh(t.Context()))
	doc := f.page("/skills/one/team/git/")
	links := func(n *html.Node) (out []string) {
		for _, a := range all(n, tag("a")) {
			out = append(out, text(a)+" "+attr(a, "href"))
		}
		return out
	}
	if diff := cmp.Diff([]string{"Skills /", "one /?root=one", "team /?collection=team&root=one"}, links(all(doc, class("crumb"))[0])); diff != "" {
		t.Errorf("the way here: -want +got\n%s", diff)
	}
	facts := map[string]*html.Node{}
	for _, d := range all(all(doc, tag("aside"))[0], tag("div")) {
		facts[text(all(d, tag("dt"))[0])] = all(d, tag("dd"))[0]
	}
	if got := text(facts["Changed"]); got != "2026-02-03 04:05:06 UTC" {
		t.Errorf("it changed at %q", got)
	}
	if diff := cmp.Diff([]string{"notes /skills/one/team/notes/", "code-review /skills/two/code-review/"}, links(facts["Mentions"])); diff != "" {
		t.Errorf("mentions: -want +got\n%s", diff)
	}
	if diff := cmp.Diff([]string{"vcs /?tag=vcs", "daily /?tag=daily"}, links(facts["Tags"])); diff != "" {
		t.Errorf("tags: -want +got\n%s", diff)
	}
}

// TestUnseenNote checks that a page shows the number of characters that are not
// displayed.
func TestUnseenNote(t *testing.T) {
	f := open(t, map[string]string{
		"one/trap/SKILL.md":  "---\nname: trap\ndescription: d\n---\nA\u202eb\u2066c\u200b\n",
		"one/plain/SKILL.md": "---\nname: plain\ndescription: d\n---\nText.\n",
	})
	for _, view := range []string{"", "?view=source"} {
		doc := f.page("/skills/one/trap/" + view)
		if notes := texts(all(doc, class("note"))); !slices.ContainsFunc(notes, func(n string) bool { return strings.HasPrefix(n, "3 characters of this text are not displayed") }) {
			t.Errorf("%q: the page says %q", view, notes)
		}
		if got := texts(all(doc, class("unseen"))); len(got) != 3 || got[0] != "[U+202E]" {
			t.Errorf("%q: %q", view, got)
		}
	}
	if notes := all(f.page("/skills/one/plain/"), class("note")); len(notes) > 0 {
		t.Error("a plain text has a note")
	}
}

// TestZip checks that the archive has every file that is served, and no other.
func TestZip(t *testing.T) {
	f := open(t, files)
	a := f.get("/zip/one/git")
	if a.status != 200 || a.header.Get("Content-Type") != "application/zip" || a.header.Get("Content-Disposition") != `attachment; filename="git.zip"` || !strings.Contains(a.header.Get("Content-Security-Policy"), "sandbox") {
		t.Fatalf("%d %v", a.status, a.header)
	}
	z, err := zip.NewReader(bytes.NewReader([]byte(a.body)), int64(len(a.body)))
	must(t, err)
	got := map[string]string{}
	for _, file := range z.File {
		r, err := file.Open()
		must(t, err)
		data, err := io.ReadAll(r)
		must(t, err)
		got["one/"+file.Name] = string(data)
	}
	want := map[string]string{}
	for name, text := range files {
		if strings.HasPrefix(name, "one/git/") && name != "one/git/.env" {
			want[name] = text
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if again := f.get("/zip/one/git/", "If-None-Match: "+a.header.Get("ETag")); again.status != http.StatusNotModified {
		t.Errorf("the same archive again: %d", again.status)
	}
	for path, want := range map[string]int{"/zip/": 404, "/zip/one/lost": 404, "/zip/one/none": 404, "/zip/one/git/run.sh": 404, "/zip/one/git/SKILL.md": 200, "/zip/one/..%2f..%2fetc": 404} {
		if a := f.get(path); a.status != want {
			t.Errorf("%s: %d, want %d", path, a.status, want)
		}
	}
	if runtime.GOOS == "windows" {
		return // has no such names
	}
	// Names that are paths on another system are in no archive.
	lay(t, f.dir, map[string]string{`one/git/..\..\x.bat`: "x"})
	if a := f.get("/zip/one/git"); strings.Contains(a.body, `\x.bat`) {
		t.Error("the archive has a name that leaves its folder")
	}
	lay(t, f.dir, map[string]string{"one/git/c:x.bat": "x"})
	if a := f.get("/zip/one/git"); a.status != http.StatusUnprocessableEntity || !strings.Contains(a.body, "The skill cannot be packed") {
		t.Errorf("a name with a colon: %d", a.status)
	}
}

// TestCompare checks the comparison of two skills with the same name.
func TestCompare(t *testing.T) {
	f := open(t, map[string]string{
		"one/git/SKILL.md": "---\nname: git\ndescription: One.\n---\n" + strings.Repeat("same\n", 20) + "left\n<b>\n",
		"one/git/a.md":     "a", "one/git/b.md": "b",
		"two/git/SKILL.md": "---\nname: git\ndescription: Two.\n---\n" + strings.Repeat("same\n", 20) + "<i>\nright\n",
		"two/git/b.md":     "other", "two/git/c.md": "c",
		"one/same/SKILL.md": "---\nname: same\ndescription: The same twice.\n---\n",
		"two/same/SKILL.md": "---\nname: same\ndescription: The same twice.\n---\n",
		"one/solo/SKILL.md": "---\nname: solo\ndescription: Alone.\n---\n",
	})
	for path, sides := range map[string][2]string{"/skills/two/git/?view=compare&with=skill%3A%2F%2Fone%2Fgit%2FSKILL.md": {"Two.", "One."}, "/skills/one/git/?view=compare": {"One.", "Two."}} {
		doc := f.page(path)
		rows := texts(all(all(doc, class("diff"))[0], tag("tr")))[1:]
		if rows[2] != "3description: "+sides[0]+"3description: "+sides[1] || !slices.Contains(rows, "15 equal lines") {
			t.Errorf("%s: the rows are %q", path, rows)
		}
		if got := texts(all(doc, tag("del"))); !slices.Contains(got, "description: "+sides[0]) {
			t.Errorf("%s: removed are %q", path, got)
		}
		if got := texts(all(doc, tag("ins"))); !slices.Contains(got, "description: "+sides[1]) {
			t.Errorf("%s: added are %q", path, got)
		}
	}
	article := text(all(f.page("/skills/one/git/?view=compare"), tag("article"))[0])
	for _, want := range []string{"a.md only here", "b.md differs", "c.md only there"} {
		if !strings.Contains(article, want) {
			t.Errorf("the page does not say %q:\n%s", want, article)
		}
	}
	if got := text(all(f.page("/skills/two/same/?view=compare"), tag("article"))[0]); !strings.Contains(got, "is the same, byte for byte") {
		t.Errorf("of a copy the page says %q", got)
	}
	var links []string
	for _, a := range all(all(f.page("/skills/two/git/"), tag("aside"))[0], tag("a")) {
		links = append(links, attr(a, "href"))
	}
	if !slices.Contains(links, "/skills/two/git/?view=compare&with=skill%3A%2F%2Fone%2Fgit%2FSKILL.md") {
		t.Errorf("the page of a shadowed skill links to %q", links)
	}
	for _, path := range []string{"/skills/one/solo/?view=compare", "/skills/one/git/?view=compare&with=skill%3A%2F%2Fone%2Fsolo%2FSKILL.md", "/skills/one/git/?view=compare&with=x"} {
		if a := f.get(path); a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}
