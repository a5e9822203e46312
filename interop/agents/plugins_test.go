package agents

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pluginCommands lists the clients' own commands for plugins. MARKET stands for the folder of the
// marketplace, and SOURCE for the folder of the plugin.
var pluginCommands = []struct {
	agent   string // the client's name
	label   string // the label of the roots of its plugins
	install [][]string
	disable []string // nil if the client has no such command
	enable  []string
	remove  []string
}{
	{
		agent: "Claude Code", label: "claude-plugin", install: [][]string{{"plugin", "marketplace", "add", "MARKET"}, {"plugin", "install", "docs@acme"}},
		disable: []string{"plugin", "disable", "docs@acme"}, enable: []string{"plugin", "enable", "docs@acme"}, remove: []string{"plugin", "uninstall", "docs@acme"},
	},
	{
		agent: "Codex, other models", label: "codex-plugin", install: [][]string{{"plugin", "marketplace", "add", "MARKET"}, {"plugin", "add", "docs@acme"}},
		remove: []string{"plugin", "remove", "docs@acme"},
	},
	{
		agent: "Gemini CLI", label: "gemini-plugin", install: [][]string{{"extensions", "install", "SOURCE", "--consent", "--skip-settings"}},
		disable: []string{"extensions", "disable", "docs", "--scope=workspace"}, enable: []string{"extensions", "enable", "docs", "--scope=workspace"}, remove: []string{"extensions", "uninstall", "docs"},
	},
	{
		agent: "Qwen Code", label: "qwen-plugin", install: [][]string{{"extensions", "install", "MARKET:docs", "--consent"}},
		disable: []string{"extensions", "disable", "docs", "--scope=workspace"}, enable: []string{"extensions", "enable", "docs", "--scope=workspace"}, remove: []string{"extensions", "uninstall", "docs"},
	},
	{
		agent: "Copilot CLI", label: "copilot-plugin", install: [][]string{{"plugin", "marketplace", "add", "MARKET"}, {"plugin", "install", "docs@acme"}},
		disable: []string{"plugin", "disable", "docs@acme"}, enable: []string{"plugin", "enable", "docs@acme"}, remove: []string{"plugin", "uninstall", "docs@acme"},
	},
}

// inPlugin lists the folders with a skill in the plugin docs, and in the plugin ops, which is never
// installed.
var inPlugin = []string{"docs/skills/pdf", "docs/skills/plain-text", "docs/skills/deep/er", "docs/examples/no", "ops/skills/run"}

// ofDocs is the text in Codex's config.toml that enables the plugin, up to the value.
const ofDocs = "[plugins.\"docs@acme\"]\nenabled = "

// described returns the description of the skill in a folder.
func described(folder string) string {
	return "Stands in the folder " + strings.ReplaceAll(folder, "/", " ") + " of a plugin."
}

// writeMarketplace makes a marketplace with two plugins. The first plugin is also an extension.
func writeMarketplace(at string) error {
	files := map[string]string{
		".claude-plugin/marketplace.json":         `{"name": "acme", "owner": {"name": "Acme"}, "plugins": [{"name": "docs", "source": "./plugins/docs", "description": "Documents."}, {"name": "ops", "source": "./plugins/ops", "description": "Runs."}]}`,
		"plugins/docs/.claude-plugin/plugin.json": `{"name": "docs", "version": "1.0.0", "description": "Documents."}`,
		"plugins/docs/gemini-extension.json":      `{"name": "docs", "version": "1.0.0"}`,
		"plugins/ops/.claude-plugin/plugin.json":  `{"name": "ops", "version": "1.0.0", "description": "Runs."}`,
	}
	for _, folder := range inPlugin {
		files["plugins/"+folder+"/SKILL.md"] = fmt.Sprintf("---\nname: %s\ndescription: %s\n---\nNothing to do.\n", filepath.Base(folder), described(folder))
	}
	return write(at, files)
}

// TestPlugins makes each client, with knack connected, install a plugin with the client's own
// command. After each change it compares knack with the client's own list in the first request.
// knack must list the same skills for another client, and none of them for this client.
func TestPlugins(t *testing.T) {
	value := os.Getenv(which)
	if value == "" {
		t.Skipf("real clients run with make plugins, or where %s names them", which)
	}
	for _, c := range pluginCommands {
		a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == c.agent })]
		t.Run(a.title, func(t *testing.T) {
			if !a.chosen(value) {
				t.Skipf("%s=%s does not name %s", which, value, a.folder)
			}
			a.installed(t)
			t.Parallel()
			r := begin(t, a, "plugins", "", &play{})
			market := filepath.Join(r.dir, "market")
			if err := writeMarketplace(market); err != nil {
				t.Fatal(err)
			}
			run := func(args []string) {
				t.Helper()
				args = slices.Clone(args)
				for i := range args {
					args[i] = strings.NewReplacer("MARKET", market, "SOURCE", filepath.Join(market, "plugins", "docs")).Replace(args[i])
				}
				if err := r.client(args...); err != nil {
					t.Fatal(err)
				}
			}
			config := filepath.Join(r.home, ".codex", "config.toml")
			edit := func(old, new string) {
				t.Helper()
				data, err := os.ReadFile(config)
				if err == nil {
					err = os.WriteFile(config, []byte(strings.Replace(string(data), old, new, 1)), 0o644)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if c.disable == nil {
				edit("plugins = false", "plugins = true")
			}
			if err := r.connect(); err != nil {
				t.Fatal(err)
			}
			same := func(step string, some bool) {
				t.Helper()
				theirs, twice := r.pluginsShown(t)
				ours, elsewhere := r.pluginsListed(t, c.label), r.pluginsElsewhere(t)
				if len(twice) > 0 {
					t.Errorf("%s: knack lists %q for %s", step, twice, a.title)
				}
				if !slices.Equal(elsewhere, ours) {
					t.Errorf("%s: knack lists %q for another client, and knows %q", step, elsewhere, ours)
				}
				if !slices.Equal(theirs, ours) {
					t.Errorf("%s: %s lists %q, and knack %q", step, a.title, theirs, ours)
				}
				if (len(theirs) > 0) != some {
					t.Errorf("%s: %s lists %q", step, a.title, theirs)
				}
				t.Logf("%s: %q", step, ours)
			}
			same("before", false)
			for _, args := range c.install {
				run(args)
			}
			same("installed", true)
			if c.disable != nil {
				run(c.disable)
			} else {
				edit(ofDocs+"true", ofDocs+"false")
			}
			same("disabled", false)
			if c.enable != nil {
				run(c.enable)
			} else {
				edit(ofDocs+"false", ofDocs+"true")
			}
			same("enabled", true)
			run(c.remove)
			same("uninstalled", false)
		})
	}
}

// pluginsIn returns the folders of the plugins' skills whose descriptions a text contains, once for
// each occurrence.
func pluginsIn(text string) (folders []string) {
	for _, folder := range inPlugin {
		folders = append(folders, slices.Repeat([]string{folder}, strings.Count(text, described(folder)))...)
	}
	return folders
}

// pluginsShown returns the folders of the plugins' skills in two texts: the first request to the
// client's model, and knack's instructions and list for this client.
func (r *session) pluginsShown(t *testing.T) (all, ours []string) {
	t.Helper()
	before := len(r.model.Requests())
	w := r.during(t, func() error { return r.client(r.agent.args(r, prompt)...) })
	requests := r.model.Requests()
	if len(requests) == before {
		t.Fatalf("%s asked no model: %s%s", r.agent.title, tail(r.stdout), tail(r.stderr))
	}
	return pluginsIn(plain(requests[before].Text())), pluginsIn(w.instructions + w.tools["skill"])
}

// pluginsElsewhere returns the folders of the plugins' skills in knack's list for another client.
func (r *session) pluginsElsewhere(t *testing.T) []string {
	t.Helper()
	other := "claude-code"
	if r.agent.id == other {
		other = "codex-mcp-client"
	}
	r.stdin = fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":%q,"version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
`, other)
	defer func() { r.stdin = "" }()
	return pluginsIn(r.during(t, func() error { return r.start(r.recorder, "serve") }).tools["skill"])
}

// during returns the messages that are recorded while run runs.
func (r *session) during(t *testing.T, run func() error) wire {
	t.Helper()
	if err := os.RemoveAll(r.wire); err != nil {
		t.Fatal(err)
	}
	if err := run(); err != nil {
		t.Error(err)
	}
	w, err := r.read()
	if err != nil {
		t.Fatalf("%s did not start knack: %v", r.agent.title, err)
	}
	if w.tools["skill"] == "" {
		t.Errorf("knack was not asked for its tools: %s%s", tail(r.stdout), tail(r.stderr))
	}
	return w
}

// pluginsListed returns the folders of the skills that knack list shows in the roots of a client's
// plugins.
func (r *session) pluginsListed(t *testing.T, label string) (folders []string) {
	t.Helper()
	binary, err := knack()
	if err == nil {
		err = r.start(binary, "list", "--json", "--no-builtin", "--project", r.project)
	}
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Skills []struct{ Root, Description string }
	}
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		t.Fatal(err)
	}
	for _, folder := range inPlugin {
		for _, s := range v.Skills {
			if strings.HasPrefix(s.Root, label) && s.Description == described(folder) {
				folders = append(folders, folder)
			}
		}
	}
	return folders
}
