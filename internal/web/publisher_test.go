package web_test

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// TestPublishers checks where the publisher of a named root is shown: on its rows, as a
// filter, in the breadcrumbs, beside the skill and on the health page. Programs get the
// label.
func TestPublishers(t *testing.T) {
	at := t.TempDir()
	lay(t, at, map[string]string{
		"a/billing/refunds/SKILL.md": "---\nname: refunds\ndescription: Money back. Use when asked.\n---\nText.\n", "a/billing/refunds/notes.md": "Notes.\n",
		"b/git/SKILL.md": "---\nname: git\ndescription: Branches. Use when asked.\n---\nText.\n",
		"c/two/SKILL.md": "---\nname: two\ndescription: Same publisher. Use when asked.\n---\nText.\n",
	})
	root := func(label string, p *skill.Publisher) catalog.Source {
		return dir.New(dir.Options{Root: skill.Root{Label: label, Scope: skill.ScopeProject, Dir: filepath.Join(at, label), Prefix: label, Publisher: p}})
	}
	hostile := &skill.Publisher{Title: "<b>Bolts\u202e & Co</b>", Owner: "<script>alert(1)</script>", URL: "javascript:alert(1)"}
	c := catalog.New([]catalog.Source{
		root("a", &skill.Publisher{Title: "Acme Inc.", Owner: "the platform team", URL: "https://acme.example/?a=1&b=2"}), root("b", hostile), root("c", &skill.Publisher{Title: "Acme Inc."}),
	}, catalog.Options{})
	must(t, c.Refresh(t.Context()))
	site := web.New(web.Options{Catalog: c})
	get := func(path string) string {
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return strings.Join(strings.Fields(w.Body.String()), " ")
	}
	const bolts = "&lt;b&gt;Bolts<span class=\"unseen\">[U+202E]</span> &amp; Co&lt;/b&gt;"
	for path, want := range map[string][]string{
		"/": {
			`<span>Acme Inc. / billing</span>`, "<h2>Publisher</h2>", `<a href="/?root=a"><span>Acme Inc. (a)</span>`, `<a href="/?root=c"><span>Acme Inc. (c)</span>`, bolts,
		},
		"/?root=a": {`<a href="/" aria-current="true"><span>Acme Inc. (a)</span>`},
		"/skills/a/billing/refunds/": {
			`<a href="/">Skills</a> / <a href="/?root=a">Acme Inc.</a> / <a href="/?collection=billing&amp;root=a">billing</a>`,
			`<dt>Publisher</dt><dd><a href="https://acme.example/?a=1&amp;b=2" class="out" rel="noopener noreferrer nofollow">Acme Inc.<span class="sr"> (leads elsewhere)</span></a></dd>`, `<dt>Owner</dt><dd>the platform team</dd>`,
		},
		"/skills/a/billing/refunds/notes.md": {`<a href="/">Skills</a> / <a href="/?root=a">Acme Inc.</a> / <a href="/skills/a/billing/refunds/">refunds</a>`},
		"/skills/b/git/":                     {bolts, `<dt>Owner</dt><dd>&lt;script&gt;alert(1)&lt;/script&gt;</dd>`},
		"/skills/c/two/":                     {`<a href="/?root=c">Acme Inc.</a>`},
		"/health":                            {`<th scope="row">a <span class="soft">Acme Inc., the platform team</span></th>`, `<th scope="row">c <span class="soft">Acme Inc.</span></th>`},
		"/api/v1/skills":                     {`"root":"a"`, `"uri":"skill://a/billing/refunds/SKILL.md"`},
		"/metrics":                           {`knack_root_skills{root="a"} 1`},
	} {
		body := get(path)
		for _, text := range want {
			if !strings.Contains(body, text) {
				t.Errorf("%s lacks %s\n%s", path, text, body)
			}
		}
		for _, text := range []string{"<b>Bolts", "<script>alert", "javascript:", "\u202e"} {
			if strings.Contains(body, text) {
				t.Errorf("%s has %q", path, text)
			}
		}
	}
	if body := get("/skills/c/two/"); strings.Contains(body, "<dt>Publisher</dt>") || strings.Contains(body, "<dt>Owner</dt>") {
		t.Error("a publisher without an address or owner has a line")
	}
	for _, text := range []string{"Acme Inc", "platform team"} {
		if strings.Contains(get("/api/v1/skills"), text) || strings.Contains(get("/metrics"), text) {
			t.Errorf("programs get %s, which is no label", text)
		}
	}
}
