package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/html"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/clientconfig"
	"github.com/knack-dev/knack/internal/web"
)

// skillsOf returns the names on a page, with their badges and addresses.
func skillsOf(doc *html.Node) (out []string) {
	for _, list := range all(doc, class("skills")) {
		for _, h := range all(list, tag("h2")) {
			out = append(out, text(h)+" "+attr(all(h, tag("a"))[0], "href"))
		}
	}
	return out
}

func TestHome(t *testing.T) {
	f := open(t, files)
	f.get("/api/v1/skills?q=git") // the API waits for the index, a page does not
	lost := "lost skipped " + skippedHref(f)
	for path, want := range map[string][]string{
		"/": {
			"git /skills/one/git/", "Odd One 2 problems /skills/one/odd/", "same /skills/one/same/", "Blank % Name 2 problems /skills/two/a%20b%2520c/",
			lost, "secret not for models /skills/one/secret/", "git shadowed 1 problem /skills/two/git/", "same copied /skills/two/same/",
		},
		"/?q=git":                        {"git /skills/one/git/", "git shadowed 1 problem /skills/two/git/"},
		"/?q=secret":                     {"secret not for models /skills/one/secret/"}, // people find skills that models do not
		"/?q=lost":                       {lost},
		"/?state=skipped":                {lost},
		"/?state=shadowed":               {"git shadowed 1 problem /skills/two/git/"},
		"/?state=copied":                 {"same copied /skills/two/same/"},
		"/?root=two&state=problems":      {"Blank % Name 2 problems /skills/two/a%20b%2520c/"},
		"/?scope=builtin":                nil,
		"/?q=zzzz":                       nil,
		"/?page=99&root=two&q=git":       {"git shadowed 1 problem /skills/two/git/"},
		"/?q=%00%ff&state=nonsense":      nil,
		"/?q=git&root=one&scope=project": {"git /skills/one/git/"},
	} {
		if diff := cmp.Diff(want, skillsOf(f.page(path))); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
}

// TestFacets checks that each filter value shows its count together with the other
// filters.
func TestFacets(t *testing.T) {
	f := open(t, files)
	f.judged()
	for path, want := range map[string][]string{
		"/?state=problems": {"fine 3", "problems 2", "shadowed 1", "copied 1", "skipped 1", "one 1", "two 1", "Clear the filters"},
		"/?scope=builtin":  {"fine 0", "problems 0", "shadowed 0", "skipped 0", "project 8", "builtin 0", "Clear the filters"},
		"/?root=two&q=git": {"fine 0", "problems 0", "shadowed 1", "skipped 0", "one 1", "two 1", "Clear the filters"},
	} {
		if diff := cmp.Diff(want, texts(all(all(f.page(path), class("facets"))[0], tag("a")))); diff != "" {
			t.Errorf("%s: -want +got\n%s", path, diff)
		}
	}
}

// skippedHref returns the address of the page of the only skipped skill.
func skippedHref(f *fixture) string {
	return attr(all(all(f.page("/?state=skipped"), class("skills"))[0], tag("a"))[0], "href")
}

func TestSkillPage(t *testing.T) {
	f := open(t, files)
	f.judged()
	main := files["one/git/SKILL.md"]
	size := strconv.Itoa(len(main)) + " B"
	doc := f.page("/skills/one/git/")
	prose := all(doc, class("prose"))[0]
	var links []string
	for _, a := range all(prose, tag("a")) {
		links = append(links, attr(a, "href")+" "+attr(a, "class")+" "+text(a))
	}
	if diff := cmp.Diff([]string{"/skills/one/git/docs/more.md#md-part  more", "https://example.org/ out that (leads elsewhere)"}, links); diff != "" {
		t.Errorf("links: -want +got\n%s", diff)
	}
	if got := attr(all(prose, tag("h1"))[0], "id"); got != "md-git" {
		t.Errorf("the heading's id is %q", got)
	}
	facts := map[string]string{}
	for _, d := range all(all(doc, tag("aside"))[0], tag("div")) {
		facts[text(all(d, tag("dt"))[0])] = text(all(d, tag("dd"))[0])
	}
	want := map[string]string{
		"Loads as": "git", "URI": "skill://one/git/SKILL.md", "Location": "one/git/SKILL.md (project)", "Size": size,
		"Costs": "9 tokens in a list, " + strconv.Itoa((len(main)+3)/4) + " when loaded (estimated)", "Used": "never since " + f.usage.Since().Format(time.DateOnly) + " (usage)", "Digest": facts["Digest"], "For": "models and people", "Published": "yes",
		"Same name": "two/git/SKILL.md shadowed, loads as two:git (compare)", "Changed": facts["Changed"], "license": "MIT", "metadata": `{ "b": "2", "a": "1" }`,
	}
	if diff := cmp.Diff(want, facts); diff != "" {
		t.Errorf("facts: -want +got\n%s", diff)
	}
	// Links between the skill and its files, in both directions.
	if got := attr(all(all(f.page("/skills/one/git/docs/more.md"), class("prose"))[0], tag("a"))[0], "href"); got != "/skills/one/git/" {
		t.Errorf("the way back is %q", got)
	}
	var tree []string
	for _, row := range all(all(f.page("/skills/one/git/?view=files"), class("files"))[0], tag("tr"))[1:] {
		cells := texts(all(row, tag("td")))
		tree = append(tree, cells[0]+" "+cells[1])
	}
	if diff := cmp.Diff([]string{"SKILL.md " + size, "blob.bin 2 B", "docs/ ", "more.md " + strconv.Itoa(len(files["one/git/docs/more.md"])) + " B", "fake.png 64 B", "latin.txt 5 B", "logo.png 16 B", "logo.svg 64 B", "run.sh 18 B"}, tree); diff != "" {
		t.Errorf("files: -want +got\n%s", diff)
	}
	answers := texts(all(f.page("/skills/one/git/?view=agent"), tag("summary")))
	if diff := cmp.Diff([]string{`skill {"name":"git"} about ` + strconv.Itoa((len(main)+len("Loading: git\nBase directory: skill://one/git\n\n")+3)/4) + ` tokens`, `read_file_in_skill {"skill_name":"git","file_path":"SKILL.md"} about ` + strconv.Itoa((len(main)+3)/4) + ` tokens`}, answers); diff != "" {
		t.Errorf("answers: -want +got\n%s", diff)
	}
	found := texts(all(f.page("/skills/one/odd/?view=problems"), class("what")))
	if diff := cmp.Diff([]string{"error 'Odd One' is not made of a-z, 0-9 and single inner hyphens", "error the folder is called 'odd', not 'Odd One'", "info description never says when to use the skill"}, found); diff != "" {
		t.Errorf("problems: -want +got\n%s", diff)
	}
}

// TestSkillFollowsDisk checks that a page shows the skill as it is on disk now.
func TestSkillFollowsDisk(t *testing.T) {
	f := open(t, files)
	lay(t, f.dir, map[string]string{"one/git/SKILL.md": "---\nname: git\ndescription: Other words.\n---\nFresh.\n"})
	if got := text(all(f.page("/skills/one/git/"), class("lede"))[0]); got != "Other words." {
		t.Errorf("the page says %q", got)
	}
	lay(t, f.dir, map[string]string{"one/git/SKILL.md": "no skill any more"})
	if a := f.get("/skills/one/git/"); a.status != 404 {
		t.Errorf("a skill that was spoilt: %d", a.status)
	}
}

func TestStatus(t *testing.T) {
	f := open(t, files)
	for path, want := range map[string]int{
		"/nothing": 404, "/skills/": 404, "/skills/one/": 404, "/skills/one/git": 302, "/skills/one/git/SKILL.md": 302, "/skills/one/git/docs": 302,
		"/skills/one/git/docs/": 302, "/skills/one/git/none": 404, "/skills/one/git/.env": 404, "/raw/one/git/.env": 404, "/api/v1/files/one/git/.env": 404,
		"/skills/one/git/..%2f..%2f..%2fetc%2fpasswd": 404, "/raw/one/git/..%2fsecret%2fSKILL.md": 404, "/raw/one/git/%2e%2e/secret/SKILL.md": 404,
		"/raw/one/lost/SKILL.md": 404, "/skills/one/lost/": 404, "/raw/one/git": 404, "/raw/one/git/docs": 404, "/health/none": 404,
		"/assets/0/site.css": 404, "/skills/two/a%20b%2520c/": 200, "/api/v1/": 200, "/api/v1/nothing": 404, "/.well-known/agent-skills/odd/SKILL.md": 404,
		"/.well-known/agent-skills/git/SKILL.md": 200, "/.well-known/agent-skills/Git/SKILL.md": 404, "/api/v1/skills/one%2Fgit": 200, "/api/v1/skills/one/git": 200,
		"/api/v1/skills/one/git/run.sh": 404, "/api/v1/skills?limit=0": 400, "/api/v1/skills?limit=x": 400, "/api/v1/skills?cursor=x": 400,
	} {
		if a := f.get(path); a.status != want {
			t.Errorf("%s: %d, want %d: %.200s", path, a.status, want, a.body)
		}
		if a := f.ask("HEAD", path); a.status != want || a.body != "" {
			t.Errorf("HEAD %s: %d, %d bytes", path, a.status, len(a.body))
		}
	}
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE"} {
		if a := f.ask(method, "/"); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != "GET, HEAD" {
			t.Errorf("%s: %d", method, a.status)
		}
	}
}

// TestHeaders checks that every answer forbids the browser features that it does not
// need.
func TestHeaders(t *testing.T) {
	f := open(t, files)
	const (
		strict = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
		raw    = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox"
	)
	for path, want := range map[string][3]string{
		"/":                                      {"text/html; charset=utf-8", strict, ""},
		"/nothing":                               {"text/html; charset=utf-8", strict, ""},
		"/api/v1/skills":                         {"application/json", strict, ""},
		"/api/v1/skills/none/x":                  {"application/problem+json", strict, ""},
		"/raw/one/git/logo.png":                  {"image/png", raw, ""},
		"/raw/one/git/logo.svg":                  {"text/plain; charset=utf-8", raw, ""},
		"/raw/one/git/fake.png":                  {"text/plain; charset=utf-8", raw, ""},
		"/raw/one/git/run.sh":                    {"text/plain; charset=utf-8", raw, ""},
		"/raw/one/git/latin.txt":                 {"text/plain; charset=windows-1252", raw, ""},
		"/raw/one/git/blob.bin":                  {"application/octet-stream", raw, "attachment"},
		"/raw/one/git/SKILL.md":                  {"text/plain; charset=utf-8", raw, ""},
		"/api/v1/files/one/git/logo.svg":         {"text/plain; charset=utf-8", raw, ""},
		"/.well-known/agent-skills/git/SKILL.md": {"text/markdown; charset=utf-8", raw, ""},
		"/metrics":                               {"text/plain; version=0.0.4; charset=utf-8", strict, ""},
	} {
		h := f.get(path).header
		if got := [3]string{h.Get("Content-Type"), h.Get("Content-Security-Policy"), h.Get("Content-Disposition")}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Cross-Origin-Resource-Policy") != "same-origin" {
			t.Errorf("%s: %v", path, h)
		}
	}
	if got := f.get("/raw/one/git/latin.txt").body; got != "caf\xe9\n" {
		t.Errorf("the bytes are %q", got)
	}
}

func TestHealth(t *testing.T) {
	f := open(t, files)
	f.judged()
	doc := f.page("/health")
	var sections []string
	for _, s := range all(doc, tag("section")) {
		sections = append(sections, text(all(s, tag("h2"))[0])+": "+strings.Join(texts(all(s, tag("h3"))), ", "))
	}
	want := []string{"Problems 2: ", "Roots: ",
		"Scan: ", "Skipped 1: lost", "What agents are shown: What takes most of it", "Usage: 5 skills never used, 0 names not found, By client, By week", "Same names 2: git, same", "Not published 2: Odd One, Blank % Name"}
	if diff := cmp.Diff(want, sections); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	// Each rule links to a list with as many skills as its row shows.
	rules := 0
	for _, row := range all(all(doc, class("rules"))[0], tag("tr"))[1:] {
		link, numbers := all(row, tag("a"))[0], texts(all(row, class("num")))
		if got := strconv.Itoa(len(skillsOf(f.page(attr(link, "href"))))); got != numbers[0] {
			t.Errorf("%s lists %s skills, and the page says %s", attr(link, "href"), got, numbers[0])
		}
		rules++
	}
	if rules < 4 {
		t.Errorf("%d rules have findings", rules)
	}
	if diff := cmp.Diff([]string{"Odd One 2 problems /skills/one/odd/", "Blank % Name 2 problems /skills/two/a%20b%2520c/"}, skillsOf(f.page("/?published=no"))); diff != "" {
		t.Errorf("not published: -want +got\n%s", diff)
	}
	for _, a := range all(doc, tag("a")) {
		if href := attr(a, "href"); strings.HasPrefix(href, "/?") && len(skillsOf(f.page(href))) == 0 {
			t.Errorf("%s lists nothing", href)
		} else if id, ok := strings.CutPrefix(href, "#"); ok && id != "main" && len(all(doc, func(n *html.Node) bool { return attr(n, "id") == id })) != 1 {
			t.Errorf("%s leads nowhere", href)
		}
	}
	story := f.page(skippedHref(f))
	if got := texts(all(story, class("what"))); len(got) != 1 || got[0] != "error description is missing" {
		t.Errorf("the story is %q", got)
	}
}

func TestConnect(t *testing.T) {
	f := open(t, files)
	doc := f.page("/connect")
	if got := len(all(doc, class("client"))); got != len(clientconfig.Clients()) {
		t.Errorf("%d clients", got)
	}
	if !strings.Contains(text(doc), f.url+"/mcp") {
		t.Error("the address of this server is not on the page")
	}
}

// TestConnectSystem checks that the page names the files of the reader's system.
func TestConnectSystem(t *testing.T) {
	site := web.New(web.Options{Catalog: open(t, files).catalog})
	for browser, want := range map[string]string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64)":         "%APPDATA%/Claude/claude_desktop_config.json",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7)":   "~/Library/Application Support/Claude/claude_desktop_config.json",
		"Mozilla/5.0 (X11; Linux x86_64; rv:144.0) Gecko/1": "~/.config/Claude/claude_desktop_config.json",
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/connect", nil)
		r.Header.Set("User-Agent", browser)
		site.ServeHTTP(w, r)
		if !strings.Contains(w.Body.String(), want) || !strings.Contains(w.Header().Get("Vary"), "User-Agent") {
			t.Errorf("%s: the page lacks %s", browser, want)
		}
	}
}

// TestConnectNamesNoPathToOthers checks that only a client on this machine is shown the path of
// the command.
func TestConnectNamesNoPathToOthers(t *testing.T) {
	f := open(t, files)
	site := web.New(web.Options{Catalog: f.catalog, Own: clientconfig.NewServer("linux", "/canary/knack", "")})
	for header, want := range map[string]bool{"Accept": true, "Forwarded": false, "X-Forwarded-For": false, "X-Forwarded-Proto": false, "Via": false} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/connect", nil)
		r.Header.Set(header, "x")
		site.ServeHTTP(w, r)
		if body := w.Body.String(); strings.Contains(body, "canary") != want || strings.Contains(body, "/path/to/knack") == want {
			t.Errorf("with %s: the path is shown: %t", header, !want)
		}
	}
}

// withToken returns a site that requires a token, and a valid token.
func withToken(t *testing.T, f *fixture) (*web.Site, string) {
	t.Helper()
	token, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line))
	must(t, err)
	return web.New(web.Options{Catalog: f.catalog, Verifier: tokens}), token
}

// TestOrigin checks that pages show the scheme with which the client reached the
// server, even if a proxy terminated TLS.
func TestOrigin(t *testing.T) {
	f := open(t, files)
	site, token := withToken(t, f)
	in := httptest.NewRequest("POST", "http://skills.example/signin", strings.NewReader("token="+token))
	in.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	in.Header.Set("Origin", "https://skills.example")
	w := httptest.NewRecorder()
	site.ServeHTTP(w, in)
	cookies := w.Result().Cookies()
	if len(cookies) != 1 || cookies[0].Name != "__Host-knack" {
		t.Fatalf("%d %v", w.Code, cookies)
	}
	id := cookies[0].Value
	for _, c := range []struct{ base, header, want string }{
		{"http://skills.example", "", "http"},
		{"https://skills.example", "", "https"},
		{"http://skills.example", "Cookie: __Host-knack=" + id, "https"},
		{"http://skills.example", "Cookie: __Host-knack=x" + id, "http"},
		{"http://skills.example", "Cookie: knack=" + id, "http"},
		{"http://skills.example", "X-Forwarded-Proto: https", "https"},
		{"http://skills.example", "X-Forwarded-Proto: HTTPS, http", "https"},
		{"http://skills.example", "X-Forwarded-Proto: http, https", "http"},
		{"http://skills.example", "X-Forwarded-Proto: javascript", "http"},
	} {
		for _, path := range []string{"/", "/connect"} {
			r := httptest.NewRequest("GET", c.base+path, nil)
			if key, value, ok := strings.Cut(c.header, ": "); ok {
				r.Header.Set(key, value)
			}
			w := httptest.NewRecorder()
			site.ServeHTTP(w, r)
			other := map[string]string{"http": "https", "https": "http"}[c.want]
			if body := w.Body.String(); w.Code != 200 || !strings.Contains(body, c.want+"://skills.example/mcp") || strings.Contains(body, other+"://skills.example/mcp") {
				t.Errorf("%s%s %q: %d, not at %s", c.base, path, c.header, w.Code, c.want)
			}
		}
	}
}

// TestConnectWithTokens checks that every client with a URL gets instructions for its
// token, and that no token is shown.
func TestConnectWithTokens(t *testing.T) {
	f := open(t, files)
	site, token := withToken(t, f)
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/connect", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	site.ServeHTTP(w, r)
	doc, err := html.Parse(w.Body)
	must(t, err)
	for _, c := range all(doc, class("client")) {
		half := text(all(all(c, class("pair"))[0], tag("div"))[0])
		if !strings.Contains(half, "KNACK_TOKEN") && !strings.Contains(half, "YOUR-TOKEN") {
			t.Errorf("%s: %s", attr(c, "id"), half)
		}
	}
	if strings.Contains(text(doc), token) {
		t.Error("the page has the token of the one who asks")
	}
	if plain := text(f.page("/connect")); strings.Contains(plain, "TOKEN") {
		t.Error("a server without tokens speaks of one")
	}
}

// TestBudgets checks that each client's section names the skills that it cuts. A client
// that cuts nothing must not mention a cut.
func TestBudgets(t *testing.T) {
	many := map[string]string{}
	for i := range 12 {
		name := fmt.Sprintf("skill-%02d", i)
		description := "short"
		if i < 6 {
			description = strings.TrimSpace(strings.Repeat("long words ", 80))
		}
		many["one/"+name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: " + description + "\n---\n"
	}
	f := open(t, many)
	figures := all(f.page("/health"), class("budget"))
	if len(figures) != 3 {
		t.Fatalf("%d clients", len(figures))
	}
	var cut []string
	for _, a := range all(figures[2], tag("a")) {
		cut = append(cut, text(a)+" "+attr(a, "href"))
	}
	var want []string
	for i := range 6 {
		want = append(want, fmt.Sprintf("skill-%02d /skills/one/skill-%02d/?view=agent", i, i))
	}
	if diff := cmp.Diff(want, cut); diff != "" {
		t.Errorf("cut: -want +got\n%s", diff)
	}
	if got := text(figures[1]); !strings.Contains(got, "Claude Code shows 4,096 characters") {
		t.Error(got)
	}
	if got := text(figures[2]); !strings.Contains(got, "Claude Code before 2.1.330 shows 2,048 characters") || !strings.Contains(got, "the longest 6 descriptions are cut to ") {
		t.Error(got)
	}
	if got := text(figures[0]); len(all(figures[0], tag("a"))) != 0 || !strings.Contains(got, "it fits, and nothing is cut") || !strings.Contains(got, "16,000 characters at most") {
		t.Error(got)
	}
}
