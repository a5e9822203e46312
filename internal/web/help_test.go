package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/builtin"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const png = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

// files has two roots with served, shadowed, copied, skipped and unpublished skills, and a skill
// that models may not invoke.
var files = map[string]string{
	"one/git/SKILL.md":     "---\nname: git\ndescription: Work with git. Use for commits.\nlicense: MIT\nmetadata:\n  b: \"2\"\n  a: \"1\"\n---\n# Git\n\nSee [more](docs/more.md#part) and [that](https://example.org/).\n",
	"one/git/docs/more.md": "# More\n\n## Part\n\n[up](../SKILL.md)\n",
	"one/git/run.sh":       "#!/bin/sh\necho hi\n",
	"one/git/logo.png":     png,
	"one/git/logo.svg":     "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
	"one/git/fake.png":     "<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>",
	"one/git/latin.txt":    "caf\xe9\n",
	"one/git/blob.bin":     "\x00\x01",
	"one/git/.env":         "SECRET=canary\n",
	"one/secret/SKILL.md":  "---\nname: secret\ndescription: For people alone.\ndisable-model-invocation: true\n---\n",
	"one/odd/SKILL.md":     "---\nname: Odd One\ndescription: Its name breaks a rule.\n---\n",
	"one/lost/SKILL.md":    "---\nname: lost\n---\n",
	"one/same/SKILL.md":    "---\nname: same\ndescription: The same twice.\n---\n",
	"two/git/SKILL.md":     "---\nname: git\ndescription: Another one.\n---\n",
	"two/same/SKILL.md":    "---\nname: same\ndescription: The same twice.\n---\n",
	"two/a b%20c/SKILL.md": "---\nname: Blank % Name\ndescription: Its folder needs encoding.\n---\n",
}

// fixture is a site over files on a disk.
type fixture struct {
	t       testing.TB
	dir     string
	catalog *catalog.Catalog
	site    *web.Site
	usage   *usage.Tally
	url     string
}

func lay(t testing.TB, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		p := filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(p), 0o755))
		must(t, os.WriteFile(p, []byte(text), 0o644))
	}
}

func folder(root, label string) catalog.Source {
	return dir.New(dir.Options{Root: skill.Root{Label: label, Scope: skill.ScopeProject, Dir: filepath.Join(root, label), Shown: label, Prefix: label}})
}

// excluded returns a source whose skills are in no list.
func excluded(root, label string) catalog.Source {
	return dir.New(dir.Options{Root: skill.Root{Label: label, Scope: skill.ScopeProject, Dir: filepath.Join(root, label), Shown: label, Prefix: label, Unlisted: true}})
}

func open(t testing.TB, files map[string]string) *fixture {
	t.Helper()
	f := &fixture{t: t, dir: t.TempDir(), usage: usage.New()}
	lay(t, f.dir, files)
	f.catalog = catalog.New([]catalog.Source{folder(f.dir, "one"), folder(f.dir, "two"), excluded(f.dir, "three")}, catalog.Options{})
	must(t, f.catalog.Refresh(t.Context()))
	tools, err := tool.ParseSets(tool.DefaultSet)
	must(t, err)
	f.site = web.New(web.Options{Catalog: f.catalog, Tools: tools, Version: "1.2.3", Engage: builtin.New().Engage, Usage: f.usage})
	server := httptest.NewServer(f.site)
	t.Cleanup(server.Close)
	f.url = server.URL
	return f
}

// toolNamed returns a tool of the default set.
func toolNamed(name string) *tool.Tool {
	tools, _ := tool.ParseSets(tool.DefaultSet)
	for _, t := range tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// called records an answered call of a tool.
func called(t *usage.Tally, v catalog.View, client, name string, arguments []byte) {
	e := event.Event{Surface: event.MCP, Method: "tools/call", Client: client, Result: event.OK, View: v}
	e.Call(toolNamed(name), name, "", arguments)
	t.Record(&e)
}

// readResource records that a client read a resource.
func readResource(t *usage.Tally, v catalog.View, client, uri string) {
	t.Record(&event.Event{Surface: event.MCP, Method: "resources/read", Client: client, Asked: uri, Result: event.OK, View: v})
}

// countList records that a client got a list.
func countList(t *usage.Tally, v catalog.View, client string) {
	t.Record(&event.Event{Surface: event.MCP, Method: "tools/list", Client: client, Result: event.OK, View: v})
}

// missed records a failed request for a skill: a call with the arguments or, if they are nil, a
// request for the prompt asked.
func missed(t *usage.Tally, v catalog.View, asked string, arguments []byte) {
	e := event.Event{Surface: event.MCP, Method: "tools/call", Asked: asked, Result: event.NotFound, View: v}
	if arguments == nil {
		e.Method = "prompts/get"
	} else {
		e.Call(toolNamed("read_file_in_skill"), "read_file_in_skill", "", arguments) // which takes name and skill_name
	}
	t.Record(&e)
}

// judged waits until all skills are judged. Until then a page shows no counts.
func (f *fixture) judged() {
	f.t.Helper()
	testwait.Until(f.t, func() bool { return f.get("/api/v1/problems").status == http.StatusOK }, "a judgement of all skills")
}

func (f *fixture) view() catalog.View {
	f.t.Helper()
	v, err := f.catalog.View(context.Background())
	must(f.t, err)
	return v
}

type answered struct {
	status int
	header http.Header
	body   string
}

// get sends a GET request and does not follow redirects. Headers have the form "key:
// value".
func (f *fixture) get(path string, headers ...string) answered { return f.ask("GET", path, headers...) }

func (f *fixture) ask(method, path string, headers ...string) answered {
	f.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, f.url+path, nil)
	must(f.t, err)
	for _, h := range headers {
		key, value, _ := strings.Cut(h, ": ")
		req.Header.Set(key, value)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	must(f.t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(f.t, err)
	return answered{resp.StatusCode, resp.Header, string(body)}
}

// page returns a page, which must exist.
func (f *fixture) page(path string) *html.Node {
	f.t.Helper()
	a := f.get(path)
	if a.status != 200 || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		f.t.Fatalf("%s: %d %s\n%s", path, a.status, a.header.Get("Content-Type"), a.body)
	}
	doc, err := html.Parse(strings.NewReader(a.body))
	must(f.t, err)
	return doc
}

// all returns the elements below n for which takes returns true.
func all(n *html.Node, takes func(*html.Node) bool) (found []*html.Node) {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && takes(d) {
			found = append(found, d)
		}
	}
	return found
}

func tag(name string) func(*html.Node) bool {
	return func(n *html.Node) bool { return n.Data == name }
}

func class(name string) func(*html.Node) bool {
	return func(n *html.Node) bool {
		for word := range strings.FieldsSeq(attr(n, "class")) {
			if word == name {
				return true
			}
		}
		return false
	}
}

func attr(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

func text(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			b.WriteString(d.Data)
		}
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

func texts(nodes []*html.Node) (out []string) {
	for _, n := range nodes {
		out = append(out, text(n))
	}
	return out
}
