//go:build unix

package cli_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/tool"
)

// openSkills are on both servers, and hiddenSkills on only one of them. Each part of the hidden
// skills contains zqx. Parts that no request names contain zqxword.
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

// probe is a request. STORY in it stands for the page of the hidden skill that is skipped, ASSET
// for a file of the pages, and SESSION for the role's session of 2025-11-25.
type probe struct {
	route  string // the pattern of a mux, "mcp METHOD" or "tool NAME"
	path   string
	method string // "" means GET
	body   string
	era    string   // the version of MCP
	more   []string // further headers
	// open is set if a client without a token gets the same answer as others. quiet is set if the
	// answer does not tell the servers apart.
	open, quiet bool
}

func (p probe) String() string {
	return strings.Join(append([]string{p.era, p.method, p.path, p.body}, p.more...), " ")
}

// pageProbes returns probes for the pages and the API.
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
	add("/{$}", "/", "/?q=zqx", "/?q=zq", "/?q=zqxword", "/?q=everybody", "/?state=skipped", "/?state=problems", "/?state=shadowed", "/?state=fine&root=dir-1", "/?scope=project&q=twin", "/?page=2",
		"/?sort=name", "/?sort=tokens&q=zqx", "/?sort=used", "/?collection=zqx-group", "/?collection=zqx", "/?tag=zqx", "/?rule=name-form", "/?rule=name-duplicate", "/?published=no", "/?used=never", "/?cut=others", "/?left=claude-code", "/?all=tag")
	add("/skills/", "/skills/zqx/", "/skills/zqx/?view=agent", "/skills/zqx/?view=source", "/skills/zqx/?view=files", "/skills/zqx/?view=problems", "/skills/zqx/notes.md",
		"/skills/zqx/deep/zqxword.txt", "/skills/zqx", "/skills/zqx-broken/", "/skills/zqx-around/", "/skills/zqx-around/zqx-in/", "/skills/open/", "/skills/open/?view=agent", "/skills/twin/", "/skills/zqx-twin/", "/skills/twin/?view=compare", "/skills/open/?view=compare")
	add("/zip/", "/zip/zqx", "/zip/open", "/zip/open/..%2fzqx")
	add("/raw/", "/raw/zqx/SKILL.md", "/raw/zqx/notes.md", "/raw/open/SKILL.md", "/raw/open/..%2fzqx/SKILL.md")
	add("/health", "/health")
	add("/health/", "STORY", "/health/none")
	add("/usage", "/usage")
	add("/api/v1/skills", "/api/v1/skills", "/api/v1/skills?q=zqx", "/api/v1/skills?q=zqxword", "/api/v1/skills?state=skipped", "/api/v1/skills?state=shadowed", "/api/v1/skills?state=problems",
		"/api/v1/skills?limit=1", "/api/v1/skills?limit=1&cursor=CURSOR", "/api/v1/skills?root=dir-1", "/api/v1/skills?used=never")
	add("/api/v1/skills/", "/api/v1/skills/zqx", "/api/v1/skills/zqx-person", "/api/v1/skills/zqx-group%2Fzqx-one", "/api/v1/skills/twin", "/api/v1/skills/zqx-twin")
	add("/api/v1/files/", "/api/v1/files/zqx/SKILL.md", "/api/v1/files/zqx/notes.md", "/api/v1/files/zqx%2Fdeep%2Fzqxword.txt", "/api/v1/files/open/notes.md")
	add("/api/v1/problems", "/api/v1/problems", "/api/v1/problems?limit=1", "/api/v1/problems?limit=1&cursor=CURSOR")
	add("/api/v1/problems/", "/api/v1/problems/zqx-odd", "/api/v1/problems/zqx-broken", "/api/v1/problems/odd")
	add("/api/v1/usage", "/api/v1/usage", "/api/v1/usage?limit=1", "/api/v1/usage?limit=1&cursor=CURSOR")
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

// arguments lists arguments to probe each tool with.
var arguments = map[string][]string{
	"skill":              {`{"name":"zqx"}`, `{"name":"ZQX"}`, `{"name":"zqx-broken"}`, `{"name":"zqx-person"}`, `{"name":"dir-1:zqx"}`, `{"name":"zq"}`, `{"name":"twin"}`, `{"name":"none"}`, `{}`},
	"read_file_in_skill": {`{"skill_name":"zqx","file_path":"notes.md"}`, `{"skill_name":"zqx","file_path":"none"}`, `{"skill_name":"around","file_path":"zqx-in/SKILL.md"}`, `{"skill_name":"open","file_path":"../zqx/SKILL.md"}`, `{"skill_name":"none","file_path":"x"}`},
	"find_skills":        {`{"query":"zqx"}`, `{"query":"zqxword"}`, `{"query":"everybody"}`, `{"query":""}`, `{}`, `{"query":"","limit":1}`, `{"query":"skipped"}`},
	"list_skills":        {`{}`},
	"get_skill":          {`{"skill_name":"zqx"}`, `{"skill_name":"none"}`, `{"uri":"skill://zqx/SKILL.md"}`, `{"uri":"skill://zqx-group/zqx-one/SKILL.md"}`, `{"uri":"skill://none/SKILL.md"}`},
	"Skill":              {`{"skill_name":"zqx"}`, `{"skill_name":"zqx-person"}`, `{"skill_name":"none"}`},
}

// hostMethods are methods that clients do not send: servers send them, or hosts answer them.
var hostMethods = []string{
	"sampling/createMessage", "elicitation/create", "roots/list", "notifications/elicitation/complete", "notifications/message", "notifications/prompts/list_changed",
	"notifications/resources/list_changed", "notifications/resources/updated", "notifications/tools/list_changed", "notifications/subscriptions/acknowledged",
	"subscriptions/listen", // never ends: see TestMatrixStreams
}

// mcpProbes returns probes for the methods in both protocol versions, and for calls of the given
// tools.
func mcpProbes(tools []*tool.Tool) (all []probe) {
	const uris = "skill://zqx skill://zqx/SKILL.md skill://zqx/notes.md skill://zqx/deep skill://zqx/deep/zqxword.txt skill://zqx-around/zqx-in/SKILL.md skill://zqx-broken/SKILL.md skill://zqx-person/SKILL.md skill://zqx-group skill://zqx-group/zqx-one/SKILL.md skill://zqx-twin/SKILL.md skill://none/SKILL.md skill:// skill://open skill://open/SKILL.md skill://engage/SKILL.md"
	// logging/setLevel has an effect only on the stream of the session, see TestMatrixStreams.
	quiet := map[string]bool{"ping": true, "logging/setLevel": true, "resources/templates/list": true, "resources/unsubscribe": true,
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
					continue // a tool of another set
				}
				add("tool "+t.Name, "tools/call", fmt.Sprintf(`"name":%q,"arguments":%s`, t.Name, args), "Mcp-Name: "+t.Name)
			}
		}
		add("tool ", "tools/call", `"name":"zqx","arguments":{}`, "Mcp-Name: zqx")
		all[len(all)-1].quiet = true
		all = append(all, probe{route: "/mcp", path: "/mcp", method: "POST", era: era, body: `{"jsonrpc":"2.0","id":1,"method":"zqx/zqx"}`, more: []string{"Mcp-Method: zqx/zqx"}, quiet: true},
			probe{route: "/mcp", path: "/mcp", method: "POST", era: era, body: `zqx`, quiet: true},
			probe{route: "/mcp", path: "/mcp", method: "PUT", era: era, quiet: true},
			probe{route: "/mcp", path: "/mcp", method: "HEAD", era: era, quiet: true})
	}
	return all
}

// TestMatrixIsWhole checks that the table has a probe for each route, method and tool.
func TestMatrixIsWhole(t *testing.T) {
	c := catalog.New(nil, catalog.Options{})
	site := web.New(web.Options{Catalog: c, Verifier: access.NewTokens(nil)})
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c, Access: access.NewGate(access.State{Verifier: access.NewTokens(nil)})}), mcpserver.HTTPOptions{Pages: site})
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
		if !slices.Contains(hostMethods, method) && method != "tools/call" { // each tool is probed
			want["mcp "+method] = true
		}
	}
	got := map[string]bool{}
	for _, p := range slices.Concat(pageProbes(), mcpProbes(every)) {
		got[p.route] = true
	}
	delete(got, "tool ") // the tool that does not exist
	if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
		t.Errorf("what there is, and what the table has: -want +got\n%s", diff)
	}
}

// methods returns the methods in the sources of the SDK and the methods of the Skills extension.
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
