package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/test/alloctest"
	"github.com/knack-dev/knack/skill"
)

// contract has the paths and the schemas of the API's OpenAPI document.
type contract struct {
	t     *testing.T
	paths map[string]struct {
		Get struct {
			Responses map[string]struct {
				Ref     string `json:"$ref"`
				Content map[string]struct {
					Schema json.RawMessage
				}
			}
		}
	}
	components json.RawMessage
	problem    json.RawMessage
	used       map[string]bool
}

func document(t *testing.T, f *fixture) *contract {
	t.Helper()
	text := strings.ReplaceAll(f.get("/api/v1/openapi.json").body, "#/components/schemas/", "#/$defs/")
	var d struct {
		Paths      json.RawMessage
		Components struct{ Schemas json.RawMessage }
	}
	c := &contract{t: t, used: map[string]bool{}, problem: json.RawMessage(`{"$ref":"#/$defs/Problem"}`)}
	must(t, json.Unmarshal([]byte(text), &d))
	must(t, json.Unmarshal(d.Paths, &c.paths))
	c.components = d.Components.Schemas
	return c
}

// pathOf returns the path in the document that matches an address.
func (c *contract) pathOf(address string) string {
	u, err := url.Parse(address)
	must(c.t, err)
	best := ""
	for path := range c.paths {
		re := regexp.MustCompile(`^` + regexp.MustCompile(`\\\{[a-z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(path), `.+`) + `$`)
		if re.MatchString(u.EscapedPath()) && len(path) > len(best) {
			best = path
		}
	}
	return best
}

// validates checks an answer against the document.
func (c *contract) validates(address string, a answered) error {
	path := c.pathOf(address)
	if path == "" {
		return fmt.Errorf("the document has no path for %s", address)
	}
	responses := c.paths[path].Get.Responses
	r, ok := responses[fmt.Sprint(a.status)]
	if !ok {
		r, ok = responses["default"]
	}
	if !ok {
		return fmt.Errorf("the document has no answer %d for %s", a.status, path)
	}
	c.used[path+" "+fmt.Sprint(a.status/100)] = true
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	schema := c.problem
	if a.status == 304 {
		if a.body != "" {
			return fmt.Errorf("304 with %d bytes", len(a.body))
		}
		return nil
	}
	if a.status < 400 {
		media, ok := r.Content[kind]
		if !ok {
			return fmt.Errorf("the document has no %s for %s", kind, path)
		}
		schema = media.Schema
	} else if kind != "application/problem+json" {
		return fmt.Errorf("a failure is %s", kind)
	}
	if a.header.Get("ETag") == "" && a.status == 200 {
		return fmt.Errorf("no ETag")
	}
	if len(schema) == 0 {
		return nil // raw bytes have no schema
	}
	return validate(c.components, schema, []byte(a.body))
}

func validate(defs, schema, instance []byte) error {
	text := fmt.Sprintf(`{"$schema":"https://json-schema.org/draft/2020-12/schema","$defs":%s,"allOf":[%s]}`, defs, schema)
	known, ok := resolved.Load(text)
	if !ok {
		var s jsonschema.Schema
		if err := json.Unmarshal([]byte(text), &s); err != nil {
			return err
		}
		made, err := s.Resolve(nil)
		if err != nil {
			return err
		}
		known = made
		resolved.Store(text, made)
	}
	var value any
	if err := json.Unmarshal(instance, &value); err != nil {
		return fmt.Errorf("%w: %.100s", err, instance)
	}
	return known.(*jsonschema.Resolved).Validate(value)
}

// resolved caches resolved schemas by their text, since resolving the document takes milliseconds.
var resolved sync.Map

// TestAnswersValidate checks that every answer matches the OpenAPI document.
func TestAnswersValidate(t *testing.T) {
	f := open(t, files)
	countList(f.usage, f.view(), "editor")
	called(f.usage, f.view(), "editor", "skill", []byte(`{"name":"git"}`))
	missed(f.usage, f.view(), "nobody", nil)
	missed(f.usage, f.view(), "nobody", nil)
	c := document(t, f)
	for _, address := range []string{
		"/api/v1/openapi.json", "/api/v1/skills", "/api/v1/skills?q=git", "/api/v1/skills?state=skipped", "/api/v1/skills?state=shadowed&scope=project&root=two",
		"/api/v1/skills?fields=name,load", "/api/v1/skills?fields=uri&state=skipped", "/api/v1/skills?fields=none", "/api/v1/skills?rule=name-folder", "/api/v1/skills?published=no&sort=name",
		"/.well-known/agent-skills/index.json?fields=name,digest", "/.well-known/agent-skills/index.json?fields=",
		"/api/v1/skills?limit=2", "/api/v1/skills?q=zzzz", "/api/v1/skills?limit=201", "/api/v1/skills/one/git", "/api/v1/skills/one%2Fgit", "/api/v1/skills/one/odd",
		"/api/v1/skills/two/a%20b%2520c", "/api/v1/skills/two/same", "/api/v1/skills/one/secret", "/api/v1/skills/nobody",
		"/api/v1/files/one/git/SKILL.md", "/api/v1/files/one/git/logo.png", "/api/v1/files/one/git/blob.bin", "/api/v1/files/one/git/none",
		"/api/v1/problems", "/api/v1/problems?limit=1", "/api/v1/problems?cursor=!", "/api/v1/problems/one/odd", "/api/v1/problems/one/git", "/api/v1/problems/nobody",
		"/api/v1/usage", "/api/v1/usage?limit=1", "/api/v1/usage?limit=0", "/api/v1/skills?used=never",
		"/.well-known/agent-skills/index.json", "/.well-known/agent-skills/git/SKILL.md", "/.well-known/agent-skills/nobody/SKILL.md",
		discovered(t, f)["git"], "/.well-known/agent-skills/git/" + strings.Repeat("0", 64) + ".tar.gz",
	} {
		a := f.get(address)
		if err := c.validates(address, a); err != nil {
			t.Errorf("%s: %v\n%s", address, err, a.body)
		}
		if tag := a.header.Get("ETag"); tag != "" {
			again := f.get(address, "If-None-Match: W/\"x\", "+tag)
			if again.status != 304 {
				t.Errorf("%s again: %d", address, again.status)
			}
			if err := c.validates(address, again); err != nil {
				t.Errorf("%s again: %v", address, err)
			}
		}
	}
	for path := range c.paths {
		for _, class := range []string{"2", "3", "4"} {
			if !c.used[path+" "+class] && !(class == "4" && (path == "/api/v1/openapi.json" || path == "/.well-known/agent-skills/index.json")) {
				t.Errorf("no answer %sxx of %s was validated", class, path)
			}
		}
	}
}

// TestUnknownFilters checks that unknown and repeated filters are rejected like a bad
// limit, not ignored.
func TestUnknownFilters(t *testing.T) {
	const unreadable = "The query of this address cannot be read. A % in it is written %25, and a ; is written %3B."
	f := open(t, files)
	c := document(t, f)
	for address, detail := range map[string]string{
		"/api/v1/skills?state=nonsense":                     "state must be one of fine, problems, shadowed, copied, unlisted, skipped and held.",
		"/api/v1/skills?scope=nonsense":                     "scope must be one of project, global and builtin.",
		"/api/v1/skills?published=yes":                      "published must be no.",
		"/api/v1/skills?used=often":                         "used must be never.",
		"/api/v1/usage?q=git":                               "The parameters are limit and cursor, and the query has another one.",
		"/api/v1/skills?sort=size":                          "sort must be one of name, changed, used and tokens.",
		"/api/v1/skills?rule=none":                          "rule must be the ID of a rule; 'knack help rules' lists them.",
		"/.well-known/agent-skills/index.json?fields=name,": "fields must be names with commas between them, out of name, type, description, url, digest.",
		"/api/v1/skills?limit=1&limit=2":                    "limit must be in the query once.",
		"/api/v1/skills?q=a&q=b":                            "q must be in the query once.",
		"/api/v1/problems?limit=1&limit=1":                  "limit must be in the query once.",
		"/api/v1/problems?cursor=a&cursor=b":                "cursor must be in the query once.",
		"/api/v1/skills?query=git":                          "The parameters are q, scope, root, state, collection, tag, rule, published, used, sort, fields, limit and cursor, and the query has another one.",
		"/api/v1/skills?q=git&=":                            "The parameters are q, scope, root, state, collection, tag, rule, published, used, sort, fields, limit and cursor, and the query has another one.",
		"/api/v1/problems?q=git":                            "The parameters are limit and cursor, and the query has another one.",
		"/api/v1/skills?q=git;rebase":                       unreadable,
		"/api/v1/skills?q=100%":                             unreadable,
		"/api/v1/skills?limit=1&root=%zz":                   unreadable,
		"/api/v1/skills/one/git?a;b":                        unreadable,
		"/api/v1/problems?limit=%":                          unreadable,
	} {
		a := f.get(address)
		want := `{"title":"Bad Request","status":400,"detail":"` + detail + "\"}\n"
		if a.status != 400 || a.header.Get("Content-Type") != "application/problem+json" || a.body != want {
			t.Errorf("%s: %d %s", address, a.status, a.body)
		}
		if err := c.validates(address, a); err != nil {
			t.Errorf("%s: %v", address, err)
		}
	}
	for _, path := range []string{"/?q=git;rebase", "/?q=100%", "/?state=problems&root=%zz", "/skills/one/git/?view=source;x"} {
		a := f.get(path)
		if a.status != 400 || a.header.Get("Content-Type") != "text/html; charset=utf-8" || !strings.Contains(a.body, "<h1>"+unreadable+"</h1>") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	for _, address := range []string{"/api/v1/skills?q=git%3Brebase", "/?q=100%25", "/api/v1/skills?&q=git&"} { // as a form sends it
		if a := f.get(address); a.status != 200 {
			t.Errorf("%s: %d %s", address, a.status, a.body)
		}
	}
	if a := f.get("/api/v1"); a.status != 200 || a.body != f.get("/api/v1/").body {
		t.Errorf("/api/v1: %d %.100s", a.status, a.body)
	}
}

// TestDocumentBites checks that the document rejects answers with missing or additional
// fields.
func TestDocumentBites(t *testing.T) {
	f := open(t, files)
	c := document(t, f)
	for _, address := range []string{"/api/v1/skills", "/api/v1/skills/one/git", "/api/v1/problems", "/api/v1/problems/one/odd"} {
		a := f.get(address)
		var whole map[string]any
		must(t, json.Unmarshal([]byte(a.body), &whole))
		try := func(what string, change map[string]any) {
			data, err := json.Marshal(change)
			must(t, err)
			spoilt := a
			spoilt.body = string(data)
			if c.validates(address, spoilt) == nil {
				t.Errorf("%s: is valid %s", address, what)
			}
		}
		with := clone(whole)
		with["more"] = true
		try("with another field", with)
		for key := range whole {
			if key == "next" || key == "changed" || key == "uri" && strings.Contains(address, "problems") {
				continue
			}
			without := clone(whole)
			delete(without, key)
			try("without "+key, without)
		}
	}
}

func clone(m map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range m {
		out[k] = v
	}
	return out
}

func TestAPISkill(t *testing.T) {
	f := open(t, files)
	main := files["one/git/SKILL.md"]
	digest := func(text string) string { return skill.DigestOf([]byte(text)).String() }
	var rows []string
	for _, name := range []string{"SKILL.md", "blob.bin", "docs/more.md", "fake.png", "latin.txt", "logo.png", "logo.svg", "run.sh"} {
		text := files["one/git/"+name]
		rows = append(rows, fmt.Sprintf(`{"path":%q,"uri":"skill://one/git/%s","size":%d,"digest":%q,"self":"/api/v1/files/one/git/%s"}`, name, name, len(text), digest(text), name))
	}
	want := fmt.Sprintf(`{"uri":"skill://one/git/SKILL.md","name":"git","description":"Work with git. Use for commits.","load":"git","status":"available","state":"fine",`+
		`"scope":"project","root":"one","file":"one/git/SKILL.md","size":%d,"digest":%q,"tokens":{"listing":9,"loading":%d},"published":true,"modelInvocable":true,`+
		`"userInvocable":true,"problems":0,"self":"/api/v1/skills/one/git","changed":CHANGED,"frontmatter":{"name":"git","description":"Work with git. Use for commits.","license":"MIT",`+
		`"metadata":{"b":"2","a":"1"}},"files":[%s],"findings":[`+
		`{"rule":"not-read","severity":"info","kind":"scan","group":"content","file":"one/git/blob.bin","message":"it is binary data of a kind that is not read","fix":"use a format that can be read"}]}`+"\n", len(main), digest(main), (len(main)+3)/4, strings.Join(rows, ","))
	got := f.get("/api/v1/skills/one%2Fgit").body
	if at := regexp.MustCompile(`"changed":("[0-9TZ:-]+")`).FindStringSubmatch(got); at != nil {
		want = strings.Replace(want, "CHANGED", at[1], 1)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if diff := cmp.Diff(main, f.get("/api/v1/files/one/git/SKILL.md").body); diff != "" {
		t.Error(diff)
	}
}

// TestAPIPages checks that all pages together are the whole list, with each skill once.
func TestAPIPages(t *testing.T) {
	f := open(t, files)
	for _, address := range []string{"/api/v1/skills?", "/api/v1/skills?q=git&", "/api/v1/problems?"} {
		whole := list(t, f, address+"limit=200")
		for limit := 1; limit <= 3; limit++ {
			var got []string
			for cursor, first := "", true; first || cursor != ""; first = false {
				page := list(t, f, fmt.Sprintf("%slimit=%d&cursor=%s", address, limit, cursor))
				got, cursor = append(got, page.names()...), page.Next
				if len(page.Skills) > limit || page.Total != whole.Total {
					t.Fatalf("%s: %d skills of %d", address, len(page.Skills), page.Total)
				}
			}
			if diff := cmp.Diff(whole.names(), got); diff != "" || len(got) != whole.Total || len(got) == 0 {
				t.Errorf("%s by %d: -want +got\n%s", address, limit, diff)
			}
		}
	}
}

// TestAPIPagesGoOn checks that the next pages have each other skill once, after the last skill of a
// page was deleted, or changed so that it moves.
func TestAPIPagesGoOn(t *testing.T) {
	t.Parallel()
	for _, sort := range []string{"", "name", "changed", "tokens", "used"} {
		for _, deleted := range []bool{true, false} {
			all := map[string]string{}
			for i := range 9 {
				name := fmt.Sprintf("skill-%d", i)
				all["one/"+name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: Does it.\n---\n" + strings.Repeat("x", 100*(i%4))
			}
			f := open(t, map[string]string{"two/.keep": ""})
			lay(t, f.dir, all)
			for i := range 9 {
				at := time.Now().Add(-time.Duration(1+i%3) * time.Hour)
				must(t, os.Chtimes(filepath.Join(f.dir, fmt.Sprintf("one/skill-%d/SKILL.md", i)), at, at))
			}
			refresh := func() {
				must(t, f.catalog.Refresh(t.Context()))
			}
			refresh()
			v, err := f.catalog.View(t.Context())
			must(t, err)
			for i := range 3 {
				called(f.usage, v, "c", "skill", fmt.Appendf(nil, `{"name":"skill-%d"}`, 2*i))
			}
			address := "/api/v1/skills?limit=4&sort=" + sort
			first := list(t, f, address)
			names := uris(first)
			last := names[len(names)-1]
			file := filepath.Join(f.dir, filepath.FromSlash(strings.TrimPrefix(last, "skill://")))
			if deleted {
				err = os.RemoveAll(filepath.Dir(file))
			} else {
				err = os.WriteFile(file, append([]byte(all["one/"+filepath.Base(filepath.Dir(file))+"/SKILL.md"]), strings.Repeat("y", 900)...), 0o644)
			}
			must(t, err)
			refresh()
			seen := map[string]int{}
			for _, name := range names {
				seen[name]++
			}
			for next := first.Next; next != ""; {
				page := list(t, f, address+"&cursor="+next)
				for _, name := range uris(page) {
					seen[name]++
				}
				next = page.Next
			}
			for name, n := range seen {
				if n != 1 {
					t.Errorf("sort %q, deleted %t: %s is there %d times", sort, deleted, name, n)
				}
			}
			if len(seen) != 9 {
				t.Errorf("sort %q, deleted %t: %d skills, want 9", sort, deleted, len(seen))
			}
		}
	}
}

type listing struct {
	Skills []struct{ URI, File string }
	Total  int
	Next   string
}

// uris returns the URIs of the skills of a page.
func uris(l listing) (out []string) {
	for _, s := range l.Skills {
		out = append(out, s.URI)
	}
	return out
}

func (l listing) names() (out []string) {
	for _, s := range l.Skills {
		out = append(out, s.URI+s.File)
	}
	return out
}

func list(t *testing.T, f *fixture, address string) (l listing) {
	t.Helper()
	a := f.get(address)
	if err := json.Unmarshal([]byte(a.body), &l); err != nil || a.status != 200 {
		t.Fatalf("%s: %d %v %s", address, a.status, err, a.body)
	}
	return l
}

// TestIndexIsKept checks that the index of a snapshot is built once for all clients
// with the same view. A client that has the index already gets status 304. A change of
// the tree or different rights lead to another index.
func TestIndexIsKept(t *testing.T) {
	const address, skills = "/.well-known/agent-skills/index.json", 120
	laid := map[string]string{}
	for i := range skills {
		laid[fmt.Sprintf("one/s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: s%d\ndescription: One.\n---\n", i)
	}
	f := open(t, laid)
	deny, err := access.ParsePattern("skill://one/s1")
	must(t, err)
	some := catalog.WithFilter(t.Context(), access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{deny}}}).Filter(access.Subject{}))
	get := func(ctx context.Context, etag string) *httptest.ResponseRecorder {
		w, r := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "GET", address, nil)
		if etag != "" {
			r.Header.Set("If-None-Match", etag)
		}
		f.site.ServeHTTP(w, r)
		return w
	}
	holds := func(what string, w *httptest.ResponseRecorder, want int) string {
		t.Helper()
		tag := w.Header().Get("ETag")
		if n := strings.Count(w.Body.String(), `"skill-md"`); n != want || w.Code != 200 {
			t.Errorf("%s: %d with %d skills, want %d", what, w.Code, n, want)
		}
		if again := get(t.Context(), tag); what == "some" && again.Code != 200 || what != "some" && (again.Code != 304 || again.Body.Len() > 0) {
			t.Errorf("%s: who sees all and has %s gets %d", what, tag, again.Code)
		}
		return tag
	}
	all, part := holds("all", get(t.Context(), ""), skills), holds("some", get(some, ""), skills-1)
	if w := get(some, part); w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("some again: %d %s", w.Code, w.Body)
	}
	for what, etag := range map[string]string{"all": "", "all, held": all} {
		// Building the index allocates for each skill.
		if n := alloctest.Least(5, func() { get(t.Context(), etag) }); n > skills/2 {
			t.Errorf("%s: %v allocations for what was made before", what, n)
		}
	}
	lay(t, f.dir, map[string]string{"one/more/SKILL.md": "---\nname: more\ndescription: One.\n---\n"})
	must(t, f.catalog.Refresh(t.Context()))
	if now := holds("after a change", get(t.Context(), all), skills+1); now == all {
		t.Error("another index has the same tag")
	}
}

// discovery is the schema of the index as given in the RFC
// (github.com/cloudflare/agent-skills-discovery-rfc, version 0.2.0, "Discovery Index").
const discovery = `{
	"type": "object", "required": ["$schema", "skills"],
	"properties": {
		"$schema": {"const": "https://schemas.agentskills.io/discovery/0.2.0/schema.json"},
		"skills": {"type": "array", "items": {
			"type": "object", "required": ["name", "type", "description", "url", "digest"],
			"properties": {
				"name": {"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$", "maxLength": 64},
				"type": {"enum": ["skill-md", "archive"]},
				"description": {"type": "string", "maxLength": 1024},
				"url": {"type": "string"},
				"digest": {"type": "string", "pattern": "^sha256:[0-9a-f]{64}$"}
			}
		}}
	}
}`

// TestDiscovery checks that a client finds the skills that the index names, with the
// right digests.
func TestDiscovery(t *testing.T) {
	f := open(t, files)
	a := f.get("/.well-known/agent-skills/index.json")
	if got := a.header.Get("Content-Type"); got != "application/json" {
		t.Errorf("the index is %s", got)
	}
	if err := validate([]byte("{}"), []byte(discovery), []byte(a.body)); err != nil {
		t.Error(err)
	}
	var index struct {
		Skills []struct{ Name, Type, Description, URL, Digest string }
	}
	must(t, json.Unmarshal([]byte(a.body), &index))
	var names []string
	for _, s := range index.Skills {
		names = append(names, s.Name+" "+s.Type)
		got := f.get(s.URL)
		if d := skill.DigestOf([]byte(got.body)).String(); got.status != 200 || d != s.Digest {
			t.Errorf("%s: %d %s, want %s", s.URL, got.status, d, s.Digest)
		}
		want := map[string]string{"skill-md": "text/markdown; charset=utf-8", "archive": "application/gzip"}[s.Type]
		if kind := got.header.Get("Content-Type"); kind != want {
			t.Errorf("%s is %s", s.URL, kind)
		}
	}
	if diff := cmp.Diff([]string{"git archive", "same skill-md", "secret skill-md"}, names); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestMetrics checks that promtool accepts the metrics.
func TestMetrics(t *testing.T) {
	f := open(t, files)
	called(f.usage, f.view(), "a \"client\"\\\n", "skill", []byte(`{"name":"git"}`))
	body := f.get("/metrics").body
	for _, line := range []string{
		`knack_build_info{version="1.2.3",goversion="`, `knack_skills{status="available"} 5`, `knack_skills{status="shadowed"} 1`, `knack_skills{status="copy"} 1`,
		`knack_skills{status="skipped"} 1`, `knack_root_skills{root="one"} 5`, `knack_root_up{root="two"} 1`, `knack_skill_uses_total{client="a \"client\"\\\\n",use="loaded"} 1`,
	} {
		if !strings.Contains(body, "\n"+line) {
			t.Errorf("no %s in\n%s", line, body)
		}
	}
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("no promtool (apt-get install prometheus)")
		}
		t.Skip("no promtool (apt-get install prometheus)")
	}
	cmd := exec.CommandContext(t.Context(), promtool, "check", "metrics")
	cmd.Stdin = bytes.NewReader([]byte(body))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
