//go:build unix

package cli_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
	"github.com/knack-dev/knack/web"
)

// The access matrix: every route × every role. Two servers have the same
// configuration, and one of them lacks the skills that are kept from some. Whoever
// must not see them gets the same answers of both, byte for byte: no name, count,
// tag, order or problem tells the servers apart. Whoever may see them can tell them
// apart by every route that shows skills, else the test would test nothing.

// openSkills are on both servers, hiddenSkills on one. Everything of these has zqx
// in it, and what no request asks for zqxword.
var (
	openSkills = map[string]string{
		"open/SKILL.md":   "---\nname: open\ndescription: For everybody.\n---\nSee [it](skill://zqx/SKILL.md) and [that](../zqx/notes.md).\n",
		"open/notes.md":   "notes\n",
		"person/SKILL.md": "---\nname: person\ndescription: For people.\ndisable-model-invocation: true\n---\n",
		"broken/SKILL.md": "---\nname: broken\n---\n",
		"odd/SKILL.md":    "---\nname: Odd One\ndescription: Not published.\n---\n",
		"twin/SKILL.md":   "---\nname: twin\ndescription: The first of this name.\n---\n",
	}
	hiddenSkills = map[string]string{
		"zqx/SKILL.md":            "---\nname: zqx\ndescription: Has zqxword in it.\nmetadata:\n  zqxword: zqxword\n---\n# zqxword\n\nSee [notes](notes.md).\n",
		"zqx/notes.md":            "zqxword\n",
		"zqx/deep/zqxword.txt":    "zqxword\n",
		"around/SKILL.md":         "---\nname: zqx-around\ndescription: zqxword around.\n---\n",
		"around/zqx-in/SKILL.md":  "---\nname: zqx-in\ndescription: zqxword within.\n---\n",
		"zqx-person/SKILL.md":     "---\nname: zqx-person\ndescription: zqxword for people.\ndisable-model-invocation: true\n---\n",
		"zqx-broken/SKILL.md":     "---\nname: zqx-broken\nzqxword: zqxword\n---\n",
		"zqx-odd/SKILL.md":        "---\nname: Zqx Odd\ndescription: zqxword is not published.\n---\n",
		"zqx-twin/SKILL.md":       "---\nname: twin\ndescription: zqxword, the second of this name.\n---\n",
		"zqx-group/one/SKILL.md":  "---\nname: zqx-one\ndescription: zqxword in a group.\n---\n",
		"zqx-group/copy/SKILL.md": "---\nname: zqx-one\ndescription: zqxword in a group.\n---\n",
	}
)

// probe is one request. In it, STORY is the page of the hidden skill that is
// skipped, ASSET a file of the pages, and SESSION a session of 2025-11-25 of the
// role's own.
type probe struct {
	route  string // a pattern of a mux, "mcp METHOD" or "tool NAME"
	path   string
	method string // GET where empty
	body   string
	era    string   // of MCP
	more   []string // headers
	// open: who sends no token gets the same answer as everybody. quiet: nobody can
	// tell the servers apart by it.
	open, quiet bool
}

func (p probe) String() string {
	return strings.Join(append([]string{p.era, p.method, p.path, p.body}, p.more...), " ")
}

// pageProbes are the routes for people and programs.
func pageProbes() (all []probe) {
	add := func(route string, paths ...string) {
		for _, path := range paths {
			all = append(all, probe{route: route, path: path})
		}
	}
	quiet := func(open bool, route string, paths ...string) {
		for _, path := range paths {
			all = append(all, probe{route: route, path: path, open: open, quiet: true})
		}
	}
	add("/{$}", "/", "/?q=zqx", "/?q=zq", "/?q=zqxword", "/?q=everybody", "/?state=skipped", "/?state=problems", "/?state=shadowed", "/?state=fine&root=dir-1", "/?scope=project&q=twin", "/?page=2")
	add("/skills/", "/skills/zqx/", "/skills/zqx/?view=agent", "/skills/zqx/?view=source", "/skills/zqx/?view=files", "/skills/zqx/?view=problems", "/skills/zqx/notes.md",
		"/skills/zqx/deep/zqxword.txt", "/skills/zqx", "/skills/zqx-broken/", "/skills/zqx-around/", "/skills/zqx-around/zqx-in/", "/skills/open/", "/skills/open/?view=agent", "/skills/twin/", "/skills/zqx-twin/")
	add("/raw/", "/raw/zqx/SKILL.md", "/raw/zqx/notes.md", "/raw/open/SKILL.md", "/raw/open/..%2fzqx/SKILL.md")
	add("/health", "/health")
	add("/health/", "STORY", "/health/none")
	add("/usage", "/usage")
	add("/api/v1/skills", "/api/v1/skills", "/api/v1/skills?q=zqx", "/api/v1/skills?q=zqxword", "/api/v1/skills?state=skipped", "/api/v1/skills?state=shadowed", "/api/v1/skills?state=problems",
		"/api/v1/skills?limit=1", "/api/v1/skills?limit=1&cursor=CURSOR", "/api/v1/skills?root=dir-1")
	add("/api/v1/skills/", "/api/v1/skills/zqx", "/api/v1/skills/zqx-person", "/api/v1/skills/zqx-group%2Fzqx-one", "/api/v1/skills/twin", "/api/v1/skills/zqx-twin")
	add("/api/v1/files/", "/api/v1/files/zqx/SKILL.md", "/api/v1/files/zqx/notes.md", "/api/v1/files/zqx%2Fdeep%2Fzqxword.txt", "/api/v1/files/open/notes.md")
	add("/api/v1/problems", "/api/v1/problems", "/api/v1/problems?limit=1", "/api/v1/problems?limit=1&cursor=CURSOR")
	add("/api/v1/problems/", "/api/v1/problems/zqx-odd", "/api/v1/problems/zqx-broken", "/api/v1/problems/odd")
	add("/.well-known/agent-skills/index.json", "/.well-known/agent-skills/index.json")
	add("/.well-known/agent-skills/", "/.well-known/agent-skills/zqx/SKILL.md", "/.well-known/agent-skills/zqx-one/SKILL.md")
	add("/metrics", "/metrics")
	quiet(false, "/connect", "/connect")
	quiet(false, "/api/v1/{$}", "/api/v1/")
	quiet(false, "/api/v1/openapi.json", "/api/v1/openapi.json")
	quiet(false, "/", "/nothing", "/zqx", "/.well-known/none", "/api/v1/none")
	quiet(true, "/assets/", "ASSET", "/assets/none")
	quiet(true, "/signin", "/signin")
	quiet(true, "/healthz", "/healthz")
	quiet(true, "/readyz", "/readyz")
	all = append(all, probe{route: "/signout", path: "/signout", method: "POST", more: []string{"Cookie: "}, open: true, quiet: true})
	for _, at := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"} {
		quiet(true, at, at)
		quiet(true, at+"/", at+"/mcp")
	}
	return all
}

// arguments are those of each tool.
var arguments = map[string][]string{
	"skill":              {`{"name":"zqx"}`, `{"name":"ZQX"}`, `{"name":"zqx-broken"}`, `{"name":"zqx-person"}`, `{"name":"dir-1:zqx"}`, `{"name":"zq"}`, `{"name":"twin"}`, `{"name":"none"}`, `{}`},
	"read_file_in_skill": {`{"skill_name":"zqx","file_path":"notes.md"}`, `{"skill_name":"zqx","file_path":"none"}`, `{"skill_name":"around","file_path":"zqx-in/SKILL.md"}`, `{"skill_name":"open","file_path":"../zqx/SKILL.md"}`, `{"skill_name":"none","file_path":"x"}`},
	"find_skills":        {`{"query":"zqx"}`, `{"query":"zqxword"}`, `{"query":"everybody"}`, `{"query":""}`, `{}`, `{"query":"","limit":1}`, `{"query":"skipped"}`},
	"list_skills":        {`{}`},
	"get_skill":          {`{"skill_name":"zqx"}`, `{"skill_name":"none"}`, `{"uri":"skill://zqx/SKILL.md"}`, `{"uri":"skill://zqx-group/zqx-one/SKILL.md"}`, `{"uri":"skill://none/SKILL.md"}`},
	"Skill":              {`{"skill_name":"zqx"}`, `{"skill_name":"zqx-person"}`, `{"skill_name":"none"}`},
}

// hostMethods are sent by servers, or answered by hosts: no client sends them.
var hostMethods = []string{
	"sampling/createMessage", "elicitation/create", "roots/list", "notifications/elicitation/complete", "notifications/message", "notifications/prompts/list_changed",
	"notifications/resources/list_changed", "notifications/resources/updated", "notifications/tools/list_changed", "notifications/subscriptions/acknowledged",
	"subscriptions/listen", // waits for ever: TestMatrixStreams
}

// mcpProbes are the methods in both eras, and the calls of some tools.
func mcpProbes(tools []*tool.Tool) (all []probe) {
	const uris = "skill://zqx skill://zqx/SKILL.md skill://zqx/notes.md skill://zqx/deep skill://zqx/deep/zqxword.txt skill://zqx-around/zqx-in/SKILL.md skill://zqx-broken/SKILL.md skill://zqx-person/SKILL.md skill://zqx-group skill://zqx-group/zqx-one/SKILL.md skill://zqx-twin/SKILL.md skill://none/SKILL.md skill:// skill://open skill://open/SKILL.md skill://engage/SKILL.md"
	quiet := map[string]bool{"ping": true, "resources/templates/list": true, "resources/unsubscribe": true,
		"notifications/initialized": true, "notifications/cancelled": true, "notifications/progress": true, "notifications/roots/list_changed": true}
	for _, era := range []string{"2025-11-25", "2026-07-28"} {
		add := func(route, method, params string, more ...string) {
			meta := ""
			if era == "2026-07-28" {
				meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"prober","version":"1"}}`
				if params != "" {
					meta += ","
				}
			}
			id := `"id":7,`
			if strings.HasPrefix(method, "notifications/") {
				id = ""
			}
			all = append(all, probe{route: route, path: "/mcp", method: "POST", era: era, quiet: quiet[method] || era == "2026-07-28" && method == "resources/subscribe", more: append(more, "Mcp-Method: "+method),
				body: fmt.Sprintf(`{"jsonrpc":"2.0",%s"method":%q,"params":{%s%s}}`, id, method, meta, params)})
		}
		for method, params := range map[string]string{
			"initialize": `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"prober","version":"1"}`, "server/discover": "", "ping": "", "logging/setLevel": `"level":"warning"`,
			"tools/list": "", "resources/list": "", "resources/templates/list": "", "prompts/list": "", "skills/list": "",
			"notifications/initialized": "", "notifications/cancelled": `"requestId":99`, "notifications/progress": `"progressToken":"x","progress":1`, "notifications/roots/list_changed": "",
		} {
			add("mcp "+method, method, params)
		}
		for _, method := range []string{"resources/list", "skills/list", "prompts/list"} {
			add("mcp "+method, method, `"cursor":"zqx"`)
		}
		for uri := range strings.FieldsSeq(uris) {
			for _, method := range []string{"resources/read", "skills/get", "resources/directory/read", "resources/subscribe", "resources/unsubscribe"} {
				add("mcp "+method, method, fmt.Sprintf(`"uri":%q`, uri), "Mcp-Name: "+uri)
			}
			add("mcp completion/complete", "completion/complete", fmt.Sprintf(`"ref":{"type":"ref/resource","uri":"skill://{+path}"},"argument":{"name":"path","value":%q}`, strings.TrimPrefix(uri, "skill://")))
		}
		for _, name := range []string{"zqx", "zqx-person", "zqx-broken", "dir-1:zqx", "none", "twin"} {
			add("mcp prompts/get", "prompts/get", fmt.Sprintf(`"name":%q`, name), "Mcp-Name: "+name)
			add("mcp completion/complete", "completion/complete", fmt.Sprintf(`"ref":{"type":"ref/prompt","name":%q},"argument":{"name":"arguments","value":""}`, name))
		}
		for _, t := range tools {
			for _, args := range arguments[t.Name] {
				var given map[string]any
				_ = json.Unmarshal([]byte(args), &given)
				if t.Name == "get_skill" && given[t.Required()[0]] == nil {
					continue // that of another set
				}
				add("tool "+t.Name, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, t.Name, args), "Mcp-Name: "+t.Name)
			}
		}
		add("tool ", "tools/call", `"name":"zqx","arguments":{}`, "Mcp-Name: zqx")
		all[len(all)-1].quiet = true
		all = append(all, probe{route: "/mcp", path: "/mcp", method: "POST", era: era, body: `{"jsonrpc":"2.0","id":1,"method":"zqx/zqx"}`, more: []string{"Mcp-Method: zqx/zqx"}, quiet: true},
			probe{route: "/mcp", path: "/mcp", method: "POST", era: era, body: `zqx`, quiet: true},
			probe{route: "/mcp", path: "/mcp", method: "PUT", era: era, quiet: true})
	}
	return all
}

// TestMatrixIsWhole: no route, method or tool is missing from the table.
func TestMatrixIsWhole(t *testing.T) {
	c := catalog.New(nil, catalog.Options{})
	site := web.New(web.Options{Catalog: c, Verifier: access.NewTokens(nil)})
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{Pages: site, Verifier: access.NewTokens(nil)})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, route := range slices.Concat(site.Routes(), h.Routes()) {
		want[route] = true
	}
	var every []*tool.Tool
	for _, set := range tool.SetNames() {
		tools, err := tool.ParseSets(set)
		if err != nil {
			t.Fatal(err)
		}
		every = append(every, tools...)
		for _, one := range tools {
			want["tool "+one.Name] = true
		}
	}
	for _, method := range methods(t) {
		if !slices.Contains(hostMethods, method) && method != "tools/call" { // its probes are the tools'
			want["mcp "+method] = true
		}
	}
	got := map[string]bool{}
	for _, p := range slices.Concat(pageProbes(), mcpProbes(every)) {
		got[p.route] = true
	}
	delete(got, "tool ") // one that there is not
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("what there is, and what the table has: -want +got\n%s", diff)
	}
}

// methods are those that the SDK's sources know, and those of the Skills extension.
func methods(t *testing.T) []string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/modelcontextprotocol/go-sdk").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "mcp", "protocol.go"))
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"skills/list", "skills/get", "resources/directory/read"}
	for _, found := range regexp.MustCompile(`(?m)^\s+(?:method|notification)[A-Z]\w*\s+= "([^"]+)"`).FindAllStringSubmatch(string(source), -1) {
		all = append(all, found[1])
	}
	if len(all) < 25 {
		t.Fatalf("the SDK's methods are not where they were: %q", all)
	}
	return all
}

// role is one who asks.
type role struct {
	name    string
	headers []string
	sees    bool   // what is kept from others
	cookie  string // in place of a header
	known   bool   // is let in
}

// house is one of the two servers.
type house struct {
	*surfer
	dir      string
	log      func() string
	sessions map[string]string // of 2025-11-25, by role
	story    string
	cursors  map[string]string
	tag      string            // of the last answer
	tags     map[string]string // what those who see it were given, by probe
}

func (h *house) send(r role, p probe) string {
	h.t.Helper()
	headers := []string{"Accept: text/html, application/json, text/event-stream"}
	if p.era != "" {
		headers = append(headers, "Content-Type: application/json", "Mcp-Protocol-Version: "+p.era, "Origin: ", "Sec-Fetch-Site: ")
		if id := h.sessions[r.name]; id != "" && p.era < "2026" && !strings.Contains(p.body, `"initialize"`) {
			headers = append(headers, "Mcp-Session-Id: "+id)
		}
	}
	for _, one := range p.more {
		if p.era < "2026" && (strings.HasPrefix(one, "Mcp-Method") || strings.HasPrefix(one, "Mcp-Name")) {
			continue
		}
		headers = append(headers, one)
	}
	headers = append(headers, r.headers...)
	if r.cookie != "" {
		headers = append(headers, "Cookie: "+r.cookie)
	}
	path := strings.NewReplacer("STORY", h.story, "CURSOR", h.cursors[p.route]).Replace(p.path)
	if p.path == "ASSET" {
		path = assetOf(h.t, h.get("/signin").body)
	}
	method := p.method
	if method == "" {
		method = http.MethodGet
	}
	got := h.ask(method, path, p.body, headers...)
	h.tag = got.header.Get("Etag")
	got.header.Del("Date")
	if strings.HasPrefix(got.header.Get("Content-Type"), "text/event-stream") {
		// An answer that is given again has one event and a length.
		got.header.Del("Connection")
		got.header.Del("Content-Length")
		got.body = strings.Join(regexp.MustCompile(`(?m)^data: .+$`).FindAllString(got.body, -1), "\n")
	}
	if got.header.Get("Mcp-Session-Id") != "" {
		got.header.Set("Mcp-Session-Id", "SESSION")
	}
	if sum := sha256.Sum256([]byte(got.body)); got.header.Get("Etag") == `"`+hex.EncodeToString(sum[:16])+`"` {
		got.header.Set("Etag", "of the body") // which has the folder in it
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(got.header)) {
		if name == "Content-Length" && (p.route == "/metrics" || p.route == "/health") { // of what is taken out below
			continue
		}
		lines = append(lines, name+": "+strings.Join(got.header[name], ", "))
	}
	return fmt.Sprintf("%d\n%s\n\n%s", got.code, h.even(strings.Join(lines, "\n")), h.even(got.body))
}

var uneven = regexp.MustCompile(strings.Join([]string{
	`(?m)^id: \S*$`, // of an event
	`(?m)^(?:# (?:HELP|TYPE) )?(?:knack_http|go_|process_).*\n`,   // the process and what it was asked
	`(?m)^knack_refresh_(?:timestamp|duration)_seconds \S+$`,      // when
	`Looked at [^<]* ago \([^<]*\), which took [^<]*\.`,           // when
	`[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?`, // when
}, "|"))

// even takes out what differs between two servers: address, folder and times.
func (h *house) even(text string) string {
	_, port, _ := strings.Cut(strings.TrimPrefix(h.base, "http://"), ":")
	text = strings.NewReplacer(h.base, "BASE", h.dir, "DIR", "127.0.0.1:"+port, "HOST", "knack-"+port, "COOKIE").Replace(text)
	return uneven.ReplaceAllString(text, "")
}

// enter begins a session of 2025-11-25.
func (h *house) enter(r role) {
	h.t.Helper()
	got := h.ask("POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"prober","version":"1"}}}`,
		append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "Origin: "}, r.headers...)...)
	id := got.header.Get("Mcp-Session-Id")
	if id == "" {
		h.t.Fatalf("%s: no session: %d %s", r.name, got.code, got.body)
	}
	h.sessions[r.name] = id
	h.ask("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		append([]string{"Content-Type: application/json", "Accept: application/json, text/event-stream", "Origin: ", "Mcp-Session-Id: " + id}, r.headers...)...)
}

func TestMatrix(t *testing.T) {
	for _, set := range []string{"default,universal,runner,wave", "uri"} {
		t.Run(set, func(t *testing.T) { matrix(t, set) })
	}
}

func matrix(t *testing.T, set string) {
	tools, err := tool.ParseSets(set)
	if err != nil {
		t.Fatal(err)
	}
	probes := slices.Concat(mcpProbes(tools), pageProbes()) // pages last: they count

	tokens := map[string]string{}
	file := filepath.Join(t.TempDir(), "knack.yaml")
	write := func(who ...string) {
		text := "access:\n  default: deny\n  tokens:\n"
		for _, line := range who {
			name, groups, _ := strings.Cut(line, " ")
			if tokens[name] == "" {
				tokens[name], tokens[name+"'s hash"] = access.NewToken()
			}
			text += fmt.Sprintf("    - {hash: %s, subject: %s, groups: [%s]}\n", tokens[name+"'s hash"], name, groups)
		}
		put(t, file, text+`  rules:
    - allow: ["skill://open", "skill://person", "skill://broken", "skill://odd", "skill://twin"]
    - {subjects: [anna, revoked], allow: ["skill://**"]}
    - {groups: [insiders], allow: ["skill://**"]}
    - {subjects: [dora], deny: ["skill://**/*zqx*/**"]}
`)
	}
	write("anna", "carl insiders", "guest others", "dora insiders", "revoked insiders")
	houses := [2]*house{}
	for i := range houses {
		dir := t.TempDir()
		for name, text := range openSkills {
			put(t, filepath.Join(dir, name), text)
		}
		if i == 0 {
			for name, text := range hiddenSkills {
				put(t, filepath.Join(dir, name), text)
			}
		}
		ripen(t, dir)
		base, log := servingLog(t, "--dir", dir, "--config", file, "--tools", set)
		houses[i] = &house{surfer: newSurfer(t, strings.TrimSuffix(base, "/mcp")), dir: dir, log: log, sessions: map[string]string{}, cursors: map[string]string{}, tags: map[string]string{}}
	}
	real, control := houses[0], houses[1]

	stranger, _ := access.NewToken()
	bearerOf := func(name string) []string { return []string{"Authorization: Bearer " + tokens[name]} }
	seeing := []role{{name: "anna", sees: true, known: true}, {name: "carl", sees: true, known: true}, {name: "revoked", sees: true, known: true}}
	blind := []role{{name: "guest", known: true}, {name: "dora", known: true}}
	for _, some := range [][]role{seeing, blind} {
		for i := range some {
			some[i].headers = bearerOf(some[i].name)
			for _, h := range houses {
				h.enter(some[i])
			}
		}
	}
	out := []role{
		{name: "no token"}, {name: "a wrong token", headers: []string{"Authorization: Bearer " + stranger}},
		{name: "no bearer", headers: []string{"Authorization: " + tokens["anna"]}}, {name: "another scheme", headers: []string{"Authorization: Basic " + tokens["anna"]}},
		{name: "nothing behind Bearer", headers: []string{"Authorization: Bearer"}}, {name: "two tokens", headers: []string{"Authorization: Bearer " + tokens["guest"] + " " + tokens["anna"]}},
		{name: "part of a token", headers: []string{"Authorization: Bearer " + tokens["anna"][:40]}}, {name: "a hash", headers: []string{"Authorization: Bearer " + tokens["anna's hash"]}},
		{name: "a long token", headers: []string{"Authorization: Bearer " + strings.Repeat(tokens["anna"], 100)}}, {name: "a token in capitals", headers: []string{"Authorization: Bearer " + strings.ToUpper(tokens["anna"])}},
		{name: "a cookie that is a token", cookie: "COOKIE=" + tokens["anna"]}, {name: "a cookie that nobody has", cookie: "COOKIE=" + strings.Repeat("A", 43)},
	}

	// ask sends a probe to both, twice: the second answer may be given again.
	ask := func(r role, p probe) (of [2]string) {
		for i, h := range houses {
			mine := r
			if r.cookie != "" {
				_, port, _ := strings.Cut(strings.TrimPrefix(h.base, "http://"), ":")
				name, value, _ := strings.Cut(r.cookie, "=")
				if name == "COOKIE" {
					mine.cookie = "knack-" + port + "=" + value
				} else {
					mine.cookie = bearing1(h.signIn(tokens[name]))[len("Cookie: "):]
				}
			}
			first := h.send(mine, p)
			of[i] = h.send(mine, p)
			if p.route == "/usage" || p.route == "/metrics" {
				first = of[i]
			}
			if first != of[i] && p.route != "mcp initialize" {
				t.Errorf("%s: %s: the second answer is another\n%s\nthan\n%s", r.name, p, of[i], first)
			}
		}
		return of
	}
	code := func(answer string) string { return answer[:3] }

	// Those who see it come first, so that everything is kept that can be kept. Each
	// route shows it to each of them.
	if set != "uri" {
		real.story = regexp.MustCompile(`/health/skipped-[0-9a-f]+`).FindString(strings.ReplaceAll(real.get("/?state=skipped&q=zqx", seeing[0].headers...).body, "\n", " "))
		if real.story == "" {
			t.Fatal("no hidden skill is skipped")
		}
		control.story = real.story
	} else {
		real.story, control.story = "/health/none", "/health/none"
	}
	for _, r := range seeing {
		shown := map[string]bool{}
		for _, p := range probes {
			of := ask(r, p)
			shown[p.route] = shown[p.route] || of[0] != of[1] || p.quiet
			if p.quiet && of[0] != of[1] {
				t.Errorf("%s: %s is said to be quiet\n%s", r.name, p, cmp.Diff(of[1], of[0]))
			}
			real.tags[p.String()] = real.tag
			if _, rest, ok := strings.Cut(of[0], `"next":"`); ok && strings.HasPrefix(p.route, "/api/") {
				cursor, _, _ := strings.Cut(rest, `"`)
				real.cursors[p.route], control.cursors[p.route] = cursor, cursor
			}
		}
		for route, ok := range shown {
			if !ok && !(set == "uri" && (strings.HasPrefix(route, "/") || route == "mcp tools/list")) {
				t.Errorf("%s is shown nothing by %s: the test tests nothing", r.name, route)
			}
		}
	}
	if t.Failed() {
		return
	}

	// must compares what one who must not see it gets of both.
	must := func(r role, p probe) {
		of := ask(r, p)
		if of[0] != of[1] {
			t.Errorf("%s: %s tells the servers apart: -without +with\n%s", r.name, p, cmp.Diff(of[1], of[0]))
		}
		echo := strings.Contains(p.String(), "zqxword")
		if low := strings.ToLower(of[0]); strings.Contains(low, "zqxword") && !echo {
			t.Errorf("%s: %s tells of it\n%s", r.name, p, of[0])
		}
		if !r.known && !p.open && code(of[0]) != "401" {
			t.Errorf("%s: %s: %s", r.name, p, of[0])
		}
		if r.known && p.era == "" && code(of[0]) == "401" {
			t.Errorf("%s: %s is refused: %s", r.name, p, of[0])
		}
	}
	for _, r := range blind {
		for _, p := range probes {
			must(r, p)
			// The tag of what others see is as good as none, but where they see the same.
			if theirs := real.tags[p.String()]; theirs != "" {
				whole := real.send(r, p)
				own := real.tag
				tagged := p
				tagged.more = append(slices.Clone(p.more), "If-None-Match: "+theirs)
				if got := real.send(r, tagged); theirs == own && code(got) != "304" || theirs != own && got != whole {
					t.Errorf("%s: %s with a tag of others: %s", r.name, p, got)
				}
			}
			if p.era == "2025-11-25" && p.route != "mcp initialize" { // a session of one who sees it
				for _, h := range houses {
					h.sessions["thief of "+r.name] = h.sessions["anna"]
				}
				thief := r
				thief.name = "thief of " + r.name
				if of := ask(thief, p); !p.quiet && (code(of[0]) == "200" || of[0] != of[1] || strings.Contains(of[0], "zqxword")) {
					t.Errorf("%s: %s: %s", thief.name, p, of[0])
				}
			}
		}
	}

	// A cookie is worth its token on pages, and nothing at MCP.
	for _, name := range []string{"guest", "dora"} {
		r := role{name: name + "'s cookie", cookie: name + "=", known: true}
		for _, p := range pageProbes() {
			if p.route != "/signin" {
				must(r, p)
			}
		}
	}
	annas := role{name: "anna's cookie", cookie: "anna="}
	shown := map[string]bool{}
	for _, p := range probes {
		of := ask(annas, p)
		switch {
		case p.era != "" && code(of[0]) != "401":
			t.Errorf("MCP takes a cookie: %s: %s", p, of[0])
		case p.era == "":
			shown[p.route] = shown[p.route] || p.quiet || of[0] != of[1]
		}
	}
	for route, ok := range shown {
		if !ok && set != "uri" {
			t.Errorf("a cookie opens nothing at %s", route)
		}
	}
	for _, r := range out {
		for _, p := range probes {
			must(r, p)
		}
	}

	// Revoked: at the next request, whatever was there before.
	var cookies [2]string
	for i, h := range houses {
		cookies[i] = h.signIn(tokens["revoked"]).Value
	}
	write("anna", "carl insiders", "guest others", "dora insiders")
	company{log: real.log}.hangUp(t)
	awaitLog(t, control.log, "the configuration was read again")
	for _, p := range probes {
		must(role{name: "revoked", headers: bearerOf("revoked")}, p)
		for i, h := range houses {
			_, port, _ := strings.Cut(strings.TrimPrefix(h.base, "http://"), ":")
			answer := h.send(role{name: "a cookie whose token is revoked", cookie: "knack-" + port + "=" + cookies[i]}, p)
			if !p.open && code(answer) != "401" || strings.Contains(strings.ToLower(answer), "zqxword") && !strings.Contains(p.String(), "zqxword") {
				t.Errorf("a cookie whose token is revoked: %s: %s", p, answer)
			}
		}
	}
	// And who may see it still does.
	if of := ask(seeing[0], probe{route: "/api/v1/skills", path: "/api/v1/skills"}); of[0] == of[1] {
		t.Error("anna is shown nothing any more")
	}
}

// ripen waits until the stamps of all files prove something, so that answers made of
// them are kept and given again.
func ripen(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		for err == nil {
			var info fs.FileInfo
			if info, err = os.Stat(path); err != nil || !skill.StampOf(info).Racy(time.Now()) {
				break
			}
			pause()
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func awaitLog(t *testing.T, log func() string, text string) {
	t.Helper()
	for range 3000 {
		if strings.Contains(log(), text) {
			return
		}
		pause()
	}
	t.Fatal(log())
}

func pause() { time.Sleep(5 * time.Millisecond) }

// stream is what a server tells of its own accord.
type stream struct {
	mu   sync.Mutex
	said strings.Builder
	code int
	end  context.CancelFunc
}

func (s *stream) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.said.String()
}

func (h *house) listen(method, body string, headers ...string) *stream {
	h.t.Helper()
	ctx, end := context.WithCancel(h.t.Context())
	h.t.Cleanup(end)
	req, err := http.NewRequestWithContext(ctx, method, h.base+"/mcp", strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Content-Type", "application/json")
	for _, one := range headers {
		key, value, _ := strings.Cut(one, ": ")
		req.Header.Set(key, value)
	}
	resp, err := h.http.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	s := &stream{code: resp.StatusCode, end: end}
	go func() {
		defer resp.Body.Close()
		some := make([]byte, 4096)
		for {
			n, err := resp.Body.Read(some)
			s.mu.Lock()
			s.said.Write(some[:n])
			s.mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return s
}

func (s *stream) await(t *testing.T, text string) {
	t.Helper()
	for range 4000 {
		if strings.Contains(s.text(), text) {
			return
		}
		pause()
	}
	t.Fatalf("it was never told of %s:\n%s", text, s.text())
}

// TestMatrixStreams: what waits for news is told of nothing that is kept from its
// subject, neither at once nor when it asks again for what it missed.
func TestMatrixStreams(t *testing.T) {
	dir := t.TempDir()
	for _, files := range []map[string]string{openSkills, hiddenSkills} {
		for name, text := range files {
			put(t, filepath.Join(dir, name), text)
		}
	}
	tokens, hashes := map[string]string{}, map[string]string{}
	for _, name := range []string{"anna", "guest"} {
		tokens[name], hashes[name] = access.NewToken()
	}
	file := filepath.Join(t.TempDir(), "knack.yaml")
	put(t, file, "access:\n  default: deny\n  tokens:\n    - {hash: "+hashes["anna"]+", subject: anna}\n    - {hash: "+hashes["guest"]+", subject: guest}\n"+
		"  rules:\n    - {subjects: [anna], allow: [\"skill://**\"]}\n    - allow: [\"skill://open\", \"skill://twin\"]\n")
	base, _ := servingLog(t, "--dir", dir, "--config", file)
	h := &house{surfer: newSurfer(t, strings.TrimSuffix(base, "/mcp")), dir: dir, sessions: map[string]string{}}
	const both = `["skill://open/notes.md","skill://zqx/notes.md"]`
	modern := `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"prober","version":"1"}},` +
		`"notifications":{"toolsListChanged":true,"resourcesListChanged":true,"promptsListChanged":true,"resourceSubscriptions":` + both + `}}}`
	streams := map[string]*stream{}
	legacy := func(name string, more ...string) []string {
		return append([]string{"Authorization: Bearer " + tokens[name], "Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: " + h.sessions[name]}, more...)
	}
	for _, name := range []string{"anna", "guest"} {
		r := role{name: name, headers: []string{"Authorization: Bearer " + tokens[name]}}
		h.enter(r)
		streams[name+" legacy"] = h.listen("GET", "", legacy(name)...)
		for _, uri := range []string{"skill://open/notes.md", "skill://zqx/notes.md"} {
			h.send(r, probe{path: "/mcp", method: "POST", era: "2025-11-25", body: `{"jsonrpc":"2.0","id":2,"method":"resources/subscribe","params":{"uri":"` + uri + `"}}`})
		}
		h.send(r, probe{path: "/mcp", method: "POST", era: "2025-11-25", body: `{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"debug"}}`})
		streams[name+" modern"] = h.listen("POST", modern, "Authorization: Bearer "+tokens[name], "Mcp-Protocol-Version: 2026-07-28", "Mcp-Method: subscriptions/listen")
		streams[name+" modern"].await(t, "acknowledged")
	}
	put(t, filepath.Join(dir, "zqx/notes.md"), "other zqxword\n")
	put(t, filepath.Join(dir, "zqx/SKILL.md"), "---\nname: zqx\ndescription: Other zqxword.\n---\n")
	put(t, filepath.Join(dir, "zqx-new/SKILL.md"), "no frontmatter zqxword\n")
	for _, era := range []string{" legacy", " modern"} {
		streams["anna"+era].await(t, `skill://zqx/notes.md"`)
		streams["anna"+era].await(t, "tools/list_changed")
	}
	put(t, filepath.Join(dir, "open/notes.md"), "other notes\n")
	for name, s := range streams {
		s.await(t, `"uri":"skill://open/notes.md"`)
		said := s.text()
		if strings.HasPrefix(name, "guest") {
			if name == "guest modern" { // what it asked for is confirmed in its own words
				_, said, _ = strings.Cut(said, "acknowledged")
				_, said, _ = strings.Cut(said, "\n")
			}
			if strings.Contains(said, "zqx") || strings.Contains(said, "list_changed") {
				t.Errorf("%s is told\n%s", name, said)
			}
		}
	}

	put(t, filepath.Join(dir, "open/notes.md"), "yet other notes\n")
	for _, name := range []string{"anna legacy", "guest legacy"} {
		s := streams[name]
		for range 4000 {
			if strings.Count(s.text(), `"uri":"skill://open/notes.md"`) == 2 {
				break
			}
			pause()
		}
	}

	// What was missed can be had again by who had it, and by nobody else.
	ids := func(name string) []string {
		var all []string
		for _, found := range regexp.MustCompile(`(?m)^id: (\S+)$`).FindAllStringSubmatch(streams[name+" legacy"].text(), -1) {
			all = append(all, found[1])
		}
		if len(all) == 0 {
			t.Fatalf("%s's stream has no ids:\n%s", name, streams[name+" legacy"].text())
		}
		return all
	}
	annas, guests := ids("anna"), ids("guest")
	if len(guests) != 2 || len(annas) < 5 {
		t.Fatalf("events %q and %q", annas, guests)
	}
	for _, s := range streams {
		s.end()
	}
	// resume asks for what came after an event, once the stream before it is known to
	// be over.
	resume := func(id string, headers []string) *stream {
		for range 400 {
			s := h.listen("GET", "", append(headers, "Last-Event-Id: "+id)...)
			if s.code != http.StatusConflict {
				return s
			}
			pause()
		}
		t.Fatal("the stream before is never over")
		return nil
	}
	again := resume(annas[0], legacy("anna"))
	again.await(t, `"uri":"skill://open/notes.md"`)
	if !strings.Contains(again.text(), "zqx") {
		t.Errorf("anna misses what she had:\n%s", again.text())
	}
	for _, id := range annas {
		s := resume(id, legacy("guest"))
		if id == guests[0] {
			s.await(t, `"uri":"skill://open/notes.md"`)
		} else {
			time.Sleep(20 * time.Millisecond) // what must not come would be there
		}
		if strings.Contains(s.text(), "zqx") {
			t.Errorf("guest is told again from %s: %d\n%s", id, s.code, s.text())
		}
		s.end()
		thief := h.listen("GET", "", "Authorization: Bearer "+tokens["guest"], "Mcp-Protocol-Version: 2025-11-25", "Mcp-Session-Id: "+h.sessions["anna"], "Last-Event-Id: "+id)
		if thief.code == 200 {
			t.Errorf("another's session goes on: %s", thief.text())
		}
		thief.end()
	}
}
