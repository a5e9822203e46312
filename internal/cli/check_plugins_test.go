package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/plugin"
)

// manifest returns a plugin.json with additional members.
func manifest(more string) string {
	return `{"$schema":"` + plugin.Schema + `","name":"acme.tools"` + more + `}`
}

func mcp(servers string) string {
	return `{"$schema":"` + plugin.ServersSchema + `","mcpServers":{` + servers + `}}`
}

func market(plugins string) string {
	return `{"name":"acme","owner":{"name":"Acme"},"plugins":[` + plugins + `]}`
}

const (
	skillA  = "---\nname: a\ndescription: Use when a is needed.\n---\n"
	badA    = "---\nname: A B\ndescription: Use when a is needed.\n---\n"
	claudes = ".claude-plugin/plugin.json"
	claudem = ".claude-plugin/marketplace.json"
	codexm  = ".agents/plugins/marketplace.json"
	cursorm = ".cursor-plugin/marketplace.json"
	secret  = "Zk3Q9xTb7LmN2vRw" + "8HcY5sDf1GpJ4uKeA6iO"
)

// files maps a path to the content of the file. If the content begins with ->, the file is a link
// to the rest.
type files map[string]string

// pluginCases are the cases of the specification and of marketplaces, each with its clause. want
// has the state of the plugin, its loaded/skipped skills and servers, and the violated rules. !rule
// stands for an error and rule for a warning; infos are left out. A part that begins with "…" is
// for a marketplace: its installable/skipped plugins.
var pluginCases = []struct {
	clause, about string
	files         files
	want          string
}{
	{"4.1.2", "no manifest, but a client's own", files{claudes: `{"name":"p"}`, "skills/a/SKILL.md": skillA}, "absent a/ /"},
	{"4.1.3", "a link inside the plugin is followed", files{"plugin.json": manifest(""), "real/a/SKILL.md": skillA, "skills/a": "->../real/a"}, "loads a/ /"},
	{"4.1 (1)", "a manifest that leads out", files{"plugin.json": "->../out.json", "skills/a/SKILL.md": skillA}, "rejected / / !plugin-file"},
	{"4.1 (1)", "a manifest that leads nowhere", files{"plugin.json": "->gone.json", "skills/a/SKILL.md": skillA}, "rejected / / !plugin-file link-dangling"},
	{"4.1 (2)", "skills that lead out", files{"plugin.json": manifest(""), "skills": "->../outside", "mcp.json": mcp(`"s":{"type":"stdio","command":"x"}`)}, "loads / s/ !plugin-skills"},
	{"4.1 (2)", "mcp.json that leads out", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "mcp.json": "->../out.json"}, "loads a/ / off !mcp-file"},
	{"4.1 (3)", "a skill's folder that leads out", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/b": "->../../outside/b"}, "loads a/b / !plugin-skill-outside link-outside"},
	{"4.1 (3)", "a SKILL.md that leads out", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/b/SKILL.md": "->../../../outside/b/SKILL.md"}, "loads a/b / !file-outside !plugin-skill-outside"},
	{"4.1 (4)", "a command that leads out", files{"plugin.json": manifest(""), "mcp.json": mcp(`"s":{"type":"stdio","command":"./../x"}`)}, "loads / /s !mcp-path"},
	{"4.1 (4)", "a command that is a link out", files{"plugin.json": manifest(""), "run": "->../out.json", "mcp.json": mcp(`"s":{"type":"stdio","command":"./run"}`)}, "loads / /s !mcp-path"},
	{"4.1 (4)", "a cwd that leads out", files{"plugin.json": manifest(""), "mcp.json": mcp(`"s":{"type":"stdio","command":"x","cwd":"./.."}`)}, "loads / /s !mcp-path"},
	{"4.1.5", "an argument is no path", files{"plugin.json": manifest(""), "mcp.json": mcp(`"s":{"type":"stdio","command":"x","args":["../../y"],"env":{"P":"/etc"}}`)}, "loads / s/"},
	{"5.1", "a client's manifest replaces nothing", files{"plugin.json": `{"name":"p"}`, claudes: manifest(""), "skills/a/SKILL.md": skillA}, "rejected / / plugin-schema"},
	{"5.2", "no JSON", files{"plugin.json": "name: p", "skills/a/SKILL.md": skillA}, "rejected / / !plugin-json"},
	{"5.2", "a comment", files{"plugin.json": "{// x\n\"name\":\"p\"}", "skills/a/SKILL.md": skillA}, "rejected / / !plugin-json"},
	{"5.2", "cut", files{"plugin.json": manifest("")[:60], "skills/a/SKILL.md": skillA}, "rejected / / !plugin-json"},
	{"5.2", "a list", files{"plugin.json": "[]", "skills/a/SKILL.md": skillA}, "rejected / / !plugin-json"},
	{"5.2", "an unknown field is ignored", files{"plugin.json": manifest(`,"hooks":{}`), "skills/a/SKILL.md": skillA}, "loads a/ / plugin-field-unknown"},
	{"5.2", "another version", files{"plugin.json": strings.Replace(manifest(""), "1.0.0", "2.0.0", 1), "skills/a/SKILL.md": skillA}, "rejected / / !plugin-schema"},
	{"5.2", "another schema", files{"plugin.json": `{"$schema":"https://x.example/s.json","name":"p"}`, "skills/a/SKILL.md": skillA}, "rejected / / !plugin-schema"},
	{"5.2", "a field in another case is unknown", files{"plugin.json": manifest(`,"Version":1`), "skills/a/SKILL.md": skillA}, "loads a/ / plugin-field-unknown"},
	{"5.3", "no $schema", files{"plugin.json": `{"name":"p"}`, "skills/a/SKILL.md": skillA}, "rejected / / !plugin-schema"},
	{"5.3", "no name", files{"plugin.json": `{"$schema":"` + plugin.Schema + `"}`}, "rejected / / !plugin-name"},
	{"5.3", "a name of another type", files{"plugin.json": `{"$schema":"` + plugin.Schema + `","name":1}`}, "rejected / / !plugin-name"},
	{"5.4", "every field", files{"plugin.json": manifest(`,"version":"x","description":"","author":{"name":"A","email":"no","url":"no"},"homepage":"no","repository":"no","license":"no","keywords":["k"],"extensions":{"com.example.x":{"a":1}}`)}, "loads / /"},
	{"5.4", "a version of another type", files{"plugin.json": manifest(`,"version":1`)}, "rejected / / !plugin-field-type"},
	{"5.4", "a keyword of another type", files{"plugin.json": manifest(`,"keywords":["a",1]`)}, "rejected / / !plugin-field-type"},
	{"5.4", "null is no string", files{"plugin.json": manifest(`,"license":null`)}, "rejected / / !plugin-field-type"},
	{"5.4", "an author with an unknown key", files{"plugin.json": manifest(`,"author":{"name":"A","mail":"x"}`), "skills/a/SKILL.md": skillA}, "rejected / / !plugin-author"},
	{"5.4", "an author that is a string", files{"plugin.json": manifest(`,"author":"A"`)}, "rejected / / !plugin-author"},
	{"5.5", "a capital", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", "My-Plugin", 1)}, "rejected / / !plugin-name"},
	{"5.5", "a hyphen in front", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", "-start", 1)}, "rejected / / !plugin-name"},
	{"5.5", "two hyphens", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", "has--double", 1)}, "rejected / / !plugin-name"},
	{"5.5", "two periods", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", "too.many..dots", 1)}, "rejected / / !plugin-name"},
	{"5.5", "an empty name", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", "", 1)}, "rejected / / !plugin-name"},
	{"5.5", "64 characters", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", strings.Repeat("a", 64), 1)}, "loads / /"},
	{"5.5", "65 characters", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", strings.Repeat("a", 65), 1)}, "rejected / / !plugin-name"},
	{"5.5", "a name that is a path", files{"plugin.json": strings.Replace(manifest(""), "acme.tools", "../x", 1)}, "rejected / / !plugin-name"},
	{"6.1", "the manifest moves no component", files{"plugin.json": manifest(`,"skills":["./more"]`), "skills/a/SKILL.md": skillA, "more/b/SKILL.md": strings.Replace(skillA, "name: a", "name: b", 1)}, "loads a/ / plugin-field-unknown"},
	{"6.2", "nothing but a manifest", files{"plugin.json": manifest("")}, "loads / /"},
	{"6.2", "skills is a file", files{"plugin.json": manifest(""), "skills": "x", "mcp.json": mcp("")}, "loads / / !plugin-skills"},
	{"6.2", "mcp.json is a folder", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "mcp.json/x": ""}, "loads a/ / off !mcp-file"},
	{"7.1", "a skill one level too deep", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/deep/b/SKILL.md": strings.Replace(skillA, "name: a", "name: b", 1)}, "loads a/ / plugin-skill-place"},
	{"7.1", "a file of a skill is no skill of the plugin", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/a/references/b/SKILL.md": strings.Replace(skillA, "name: a", "name: b", 1)}, "loads a/ /"},
	{"7.1", "a folder without SKILL.md is no skill", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/none/README.md": "x"}, "loads a/ /"},
	{"7.1", "another spelling of SKILL.md", files{"plugin.json": manifest(""), "skills/a/skill.md": skillA}, "loads / / file-spelling"},
	{"7.1", "a SKILL.md at the root", files{"plugin.json": manifest(""), "SKILL.md": strings.Replace(skillA, "name: a", "name: plugin", 1)}, "loads / / plugin-skill-place"},
	{"7.1", "a skill that breaks its specification is skipped", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/b/SKILL.md": badA}, "loads a/b / !name-folder !name-pattern"},
	{"7.1", "a SKILL.md that is a folder", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "skills/b/SKILL.md/x": ""}, "loads a/ / !file-not-regular"},
	{"7.2.1", "every kind of server", files{"plugin.json": manifest(""), "bin/v": "x", "mcp.json": mcp(`"a":{"type":"stdio","command":"./bin/v","args":["-x"],"env":{"A":"${PLUGIN_ROOT}"},"cwd":"${PLUGIN_DATA}/x"},"b":{"type":"streamable-http","url":"https://x.example/mcp","headers":{"X-A":"b"}},"c":{"type":"sse","url":"http://127.0.0.1:8080"}`)}, "loads / a,b,c/"},
	{"7.2.1", "no server", files{"plugin.json": manifest(""), "mcp.json": mcp("")}, "loads / /"},
	{"7.2.1", "a further field on top", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "mcp.json": `{"$schema":"` + plugin.ServersSchema + `","mcpServers":{},"inputs":[]}`}, "loads a/ / off !mcp-field"},
	{"7.2.1", "no mcpServers", files{"plugin.json": manifest(""), "mcp.json": `{"$schema":"` + plugin.ServersSchema + `"}`}, "loads / / off !mcp-field"},
	{"7.2.1", "no type", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"command":"x"},"b":{"type":"stdio","command":"x"}`)}, "loads / b/a !mcp-server"},
	{"7.2.1", "an unknown type", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"http","url":"https://x.example"}`)}, "loads / /a !mcp-server"},
	{"7.2.1", "an unknown field", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"stdio","command":"x","timeout":1}`)}, "loads / /a !mcp-server"},
	{"7.2.1", "a field of another type of server", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"sse","url":"https://x.example","env":{}}`)}, "loads / /a !mcp-server"},
	{"7.2.1", "no command", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"stdio"}`)}, "loads / /a !mcp-server"},
	{"7.2.1", "a path that does not begin with ./", files{"plugin.json": manifest(""), "bin/v": "x", "mcp.json": mcp(`"a":{"type":"stdio","command":"bin/v"},"b":{"type":"stdio","command":"/bin/sh"},"c":{"type":"stdio","command":"${PLUGIN_ROOT}/bin/v"}`)}, "loads / /a,b,c !mcp-path !mcp-path !mcp-path"},
	{"7.2.1", "a cwd of another form", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"stdio","command":"x","cwd":"data"},"b":{"type":"stdio","command":"x","cwd":"${PLUGIN_ROOT}x"},"c":{"type":"stdio","command":"x","cwd":"${PLUGIN_DATA}/.."}`)}, "loads / /a,b,c !mcp-path !mcp-path !mcp-path"},
	{"7.2.1", "a URL with a user, a fragment, or without encryption", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"sse","url":"https://u:p@x.example"},"b":{"type":"sse","url":"https://x.example/#f"},"c":{"type":"sse","url":"http://x.example"},"d":{"type":"sse","url":"/mcp"},"e":{"type":"sse","url":"http://[::1]/"}`)}, "loads / e/a,b,c,d !mcp-url !mcp-url !mcp-url !mcp-url"},
	{"7.2.1", "one header twice", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"sse","url":"https://x.example","headers":{"X-A":"1","x-a":"2"}}`)}, "loads / /a !mcp-header"},
	{"7.2.1", "a header that is none", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"sse","url":"https://x.example","headers":{"X A":"1"}},"b":{"type":"sse","url":"https://x.example","headers":{"X":"1\n2"}}`)}, "loads / /a,b !mcp-header !mcp-header"},
	{"7.2.1", "a secret in a header", files{"plugin.json": manifest(""), "mcp.json": mcp(`"a":{"type":"sse","url":"https://x.example","headers":{"Authorization":"Bearer ghp_` + secret + `"}}`)}, "loads / a/ mcp-secret"},
	{"7.2.2.2", "mcp.json that is no JSON", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "mcp.json": "{"}, "loads a/ / off !mcp-json"},
	{"7.2.2.2", "an unknown version", files{"plugin.json": manifest(""), "skills/a/SKILL.md": skillA, "mcp.json": strings.Replace(mcp(`"s":{"type":"stdio","command":"x"}`), "1.0.0", "1.1.0", 1)}, "loads a/ /s off !mcp-schema"},
	{"7.2.2.2", "no $schema", files{"plugin.json": manifest(""), "mcp.json": `{"mcpServers":{}}`}, "loads / / off !mcp-schema"},
	{"7.2.2.5", "a program that is not there", files{"plugin.json": manifest(""), "mcp.json": mcp(`"s":{"type":"stdio","command":"./bin/gone"}`)}, "loads / s/ mcp-path"},
	{"8.1", "extensions that are no object", files{"plugin.json": manifest(`,"extensions":false`), "skills/a/SKILL.md": skillA}, "loads a/ / plugin-extensions"},
	{"8.1", "the contents of a namespace are not judged", files{"plugin.json": manifest(`,"extensions":{"com.example.x":{"a":[{"b":null}]}}`)}, "loads / /"},
	{"8.1", "a namespace that is no object", files{"plugin.json": manifest(`,"extensions":{"com.example.x":1}`)}, "rejected / / !plugin-extensions"},
	{"8", "a namespace that is no domain", files{"plugin.json": manifest(`,"extensions":{"copilot":{}}`)}, "loads / / plugin-extensions"},
	{"9.2", "env sets what the client sets", files{"plugin.json": manifest(""), "mcp.json": mcp(`"s":{"type":"stdio","command":"x","env":{"PLUGIN_ROOT":"y"}}`)}, "loads / /s !mcp-env"},
	{"9.2", "an unknown placeholder stays", files{"plugin.json": manifest(""), "mcp.json": mcp(`"s":{"type":"stdio","command":"x","args":["${HOME}"]}`)}, "loads / s/"},
	{"10.1", "mcp.json of another version than plugin.json", files{"plugin.json": strings.Replace(manifest(""), "1.0.0", "1.1.0", 1), "mcp.json": mcp("")}, "rejected / / off !mcp-schema !plugin-schema"},
	{"11.3", "a rejected plugin has no components", files{"plugin.json": `{}`, "skills/a/SKILL.md": skillA, "mcp.json": mcp(`"s":{"type":"stdio","command":"x"}`)}, "rejected / / !plugin-name !plugin-schema"},
	{"RFC 8259, 4", "a name that occurs twice", files{"plugin.json": manifest(`,"version":"1","version":"2"`)}, "loads / / plugin-duplicate-key"},
	{"RFC 8259, 8.1", "a byte-order mark", files{"plugin.json": "\ufeff" + manifest("")}, "loads / / plugin-json"},

	{"Claude Code", "a path of a manifest that leads out", files{claudes: `{"name":"p","skills":["./a","../b"]}`, "a/SKILL.md": skillA}, "absent / / !plugin-path"},
	{"Claude Code", "a deep skill that the manifest names", files{claudes: `{"name":"p","skills":["./skills/deep/a"]}`, "skills/deep/a/SKILL.md": skillA}, "absent / /"},
	{"Codex", "a manifest that is no JSON", files{".codex-plugin/plugin.json": "{,}", "skills/a/SKILL.md": skillA}, "absent a/ / !plugin-json"},
	{"marketplace", "plugins in it", files{claudem: market(`{"name":"p","source":"./p"}`), "p/plugin.json": manifest(""), "p/skills/a/SKILL.md": skillA}, "…p/ loads a/ /"},
	{"4.1.3", "a link out of the plugin into its marketplace", files{claudem: market(`{"name":"p","source":"./p"}`), "p/plugin.json": manifest(""), "p/skills/a": "->../../shared/a", "shared/a/SKILL.md": skillA}, "…p/ loads /a / !plugin-skill-outside"},
	{"marketplace", "each client's file", files{claudem: market(`{"name":"p","source":"./p"}`), codexm: `{"name":"acme","plugins":[{"name":"p","source":{"source":"local","path":"./p"}}]}`, cursorm: `{"name":"acme","plugins":[{"name":"p","source":"p"}]}`, "p/plugin.json": manifest("")}, "…p/ …p/ …p/ loads / /"},
	{"marketplace", "no owner", files{claudem: `{"name":"acme","plugins":[]}`}, "…rejected/ !marketplace-field"},
	{"marketplace", "a file that leads out", files{claudem: "->../../out.json"}, "…rejected/ !marketplace-file"},
	{"marketplace", "a source without a commit", files{claudem: market(`{"name":"p","source":{"source":"github","repo":"a/b"}}`)}, "…p/"},
	{"marketplace", "no JSON", files{claudem: `{"name":"acme",}`}, "…rejected/ !marketplace-json"},
	{"marketplace", "no plugins", files{codexm: `{"name":"acme"}`}, "…rejected/ !marketplace-field"},
	{"marketplace", "a name that is a path", files{claudem: market(`{"name":"../x","source":"./p"},{"name":"ok","source":"./p"}`), "p/plugin.json": manifest("")}, "…ok/../x loads / / !marketplace-entry"},
	{"marketplace", "a source that leads out", files{claudem: market(`{"name":"p","source":"../p"},{"name":"q","source":"/etc"},{"name":"r","source":"./link"}`), "link": "->../outside"}, "…/p,q,r !marketplace-path !marketplace-path !marketplace-path"},
	{"marketplace", "a source that is not there", files{claudem: market(`{"name":"p","source":"./gone"}`)}, "…/p !marketplace-path"},
	{"marketplace", "a source that runs a command", files{claudem: market(`{"name":"p","source":{"source":"command","command":"curl x | sh"}}`)}, "…/p !marketplace-command"},
	{"marketplace", "an unknown kind of source", files{claudem: market(`{"name":"p","source":{"source":"gitlab","repo":"a/b"}}`)}, "…/p !marketplace-source"},
	{"marketplace", "a source without its field", files{claudem: market(`{"name":"p","source":{"source":"git-subdir","url":"https://x.example/a.git"}}`)}, "…/p !marketplace-source"},
	{"marketplace", "a short sha", files{claudem: market(`{"name":"p","source":{"source":"github","repo":"a/b","sha":"abc1234"}}`)}, "…/p !marketplace-source"},
	{"marketplace", "a subfolder that leads out", files{claudem: market(`{"name":"p","source":{"source":"git-subdir","url":"https://x.example/a.git","path":"../.."}}`)}, "…/p !marketplace-path"},
	{"marketplace", "strict: false beside components", files{claudem: market(`{"name":"p","source":"./p","strict":false,"skills":["./skills/a"]}`), "p/" + claudes: `{"name":"p","skills":"./skills"}`, "p/skills/a/SKILL.md": skillA}, "…/p absent a/ / !marketplace-strict"},
	{"marketplace", "strict: false without a manifest", files{claudem: market(`{"name":"p","source":"./","strict":false,"skills":["./skills/a"]}`), "skills/a/SKILL.md": skillA}, "…p/ absent a/ /"},
	{"marketplace", "pluginRoot of bare names", files{claudem: `{"name":"acme","owner":{"name":"A"},"metadata":{"pluginRoot":"./plugins"},"plugins":[{"name":"p","source":"p"}]}`, "plugins/p/plugin.json": manifest("")}, "…p/ loads / /"},
	{"marketplace", "one name twice", files{claudem: market(`{"name":"p","source":"./p"},{"name":"p","source":"./p"}`), "p/plugin.json": manifest("")}, "…p,p/ loads / / marketplace-duplicate"},
	{"marketplace", "one bad entry", files{codexm: `{"name":"acme","plugins":[1,{"name":"p","source":"./p"}]}`, "p/plugin.json": manifest("")}, "…p/ loads / / !marketplace-entry"},
	{"marketplace", "a plugin that is rejected", files{claudem: market(`{"name":"p","source":"./p"}`), "p/plugin.json": manifest(`,"author":{"x":1}`)}, "…p/ rejected / / !plugin-author"},
}

// TestCheckPlugins checks that the verdict on each case is as its clause says, and that the exit
// status is 1 if there is an error.
func TestCheckPlugins(t *testing.T) {
	broken := map[string]bool{}
	for i, c := range pluginCases {
		t.Run(fmt.Sprintf("%02d %s %s", i, c.clause, c.about), func(t *testing.T) {
			home := t.TempDir()
			dir := filepath.Join(home, "plugin")
			tree(t, home, files{"out.json": manifest(""), "outside/b/SKILL.md": strings.Replace(skillA, "name: a", "name: b", 1), "plugin/LICENSE": "x"})
			tree(t, dir, c.files)
			status, got := checkJSON(t, home, "plugin")
			if got.text() != c.want {
				t.Errorf("%s\nwant %s\n%+v", got.text(), c.want, got.Findings)
			}
			want := 0
			if strings.Contains(c.want, "!") {
				want = 1
			}
			if status != want {
				t.Errorf("status %d, want %d", status, want)
			}
			for _, f := range got.Findings {
				broken[f.Rule] = true
				if f.Group == "plugin" && f.Fix == "" {
					t.Errorf("no fix: %+v", f)
				}
			}
		})
	}
	for _, r := range plugin.Rules {
		if !broken[r.ID] {
			t.Errorf("no case breaks %s", r.ID)
		}
	}
}

// TestCheckPluginsHostile checks that expensive files, and links that lead elsewhere, are judged
// like any other. It also checks that the 5,000 plugins of a marketplace are judged one by one.
func TestCheckPluginsHostile(t *testing.T) {
	many := func(n int, entry string) string { return market(strings.TrimSuffix(strings.Repeat(entry+",", n), ",")) }
	for _, c := range []struct {
		about string
		files files
		want  []string // rules
	}{
		{"a manifest of 16 MiB", files{"plugin.json": manifest(`,"description":"` + strings.Repeat("x", 16<<20) + `"`), "skills/a/SKILL.md": skillA}, []string{"plugin-file"}},
		{"a marketplace of 16 MiB", files{claudem: market(`{"name":"` + strings.Repeat("x", 16<<20) + `"}`)}, []string{"marketplace-file"}},
		{"deep lists", files{"plugin.json": manifest(`,"keywords":` + strings.Repeat("[", 200_000) + strings.Repeat("]", 200_000)), "skills/a/SKILL.md": skillA}, []string{"plugin-json"}},
		{"lists of 100 levels", files{"plugin.json": manifest(`,"keywords":` + strings.Repeat("[", 100) + strings.Repeat("]", 100)), "skills/a/SKILL.md": skillA}, []string{"plugin-json"}},
		{"many values", files{claudem: `{"a":[` + strings.Repeat("1,", 1<<20) + `1]}`}, []string{"marketplace-json"}},
		{"no UTF-8", files{"plugin.json": "{\"name\":\"\xff\"}", "skills/a/SKILL.md": skillA}, []string{"plugin-json"}},
		{"names for a terminal", files{"plugin.json": manifest(`,"\u001b[31m":1,"a\u202eb":1`)}, []string{"plugin-field-unknown"}},
		{"5,000 plugins that lead out", files{claudem: many(5_000, `{"name":"../x","source":"../../x"}`)}, []string{"marketplace-entry", "marketplace-path"}},
		{"5,000 plugins in one folder", files{claudem: many(5_000, `{"name":"x","source":"./x"}`), "x/plugin.json": manifest("")}, []string{"marketplace-duplicate"}},
		{"a marketplace in itself", files{claudem: market(`{"name":"x","source":"./"},{"name":"y","source":"./y"}`), "plugin.json": manifest(""), "y": "->."}, []string{"link-loop"}},
		{"links in a circle", files{"plugin.json": manifest(""), "skills/a": "->b", "skills/b": "->a", "mcp.json": "->mcp.json"}, []string{"link-loop", "mcp-file"}},
		{"a skill in the folder of links to it", files{"plugin.json": manifest(""), "skills/up": "->..", "skills/a/SKILL.md": skillA}, []string{"link-loop"}},
	} {
		t.Run(c.about, func(t *testing.T) {
			home := t.TempDir()
			tree(t, filepath.Join(home, "plugin"), c.files)
			_, got := checkJSON(t, home, "plugin")
			var rules []string
			for _, f := range got.Findings {
				if f.Severity != "info" && !slices.Contains(rules, f.Rule) {
					rules = append(rules, f.Rule)
				}
				if strings.ContainsAny(f.Message+f.Fix, "\x1b\u202e") || len(f.Message) > 1_000 {
					t.Errorf("%+q", f)
				}
			}
			slices.Sort(rules)
			if !slices.Equal(rules, c.want) {
				t.Errorf("%v, want %v: %+v", rules, c.want, got.Findings[:min(len(got.Findings), 3)])
			}
			if len(got.Findings) > 1_100 {
				t.Errorf("%d findings", len(got.Findings))
			}
		})
	}
}

// tree writes files and links.
func tree(t *testing.T, dir string, all files) {
	t.Helper()
	for name, content := range all {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		target, link := strings.CutPrefix(content, "->")
		err := error(nil)
		if link {
			err = os.Symlink(filepath.FromSlash(target), at)
		} else {
			err = os.WriteFile(at, []byte(content), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// judged is the part of the JSON that the cases check.
type judged struct {
	Plugins []struct {
		State                                          string
		Skills, SkippedSkills, Servers, SkippedServers []string
		ServersDisabled                                bool
	}
	Marketplaces []struct {
		Rejected         bool
		Plugins, Skipped []string
	}
	Findings []struct{ Rule, Severity, Group, File, Message, Fix string }
}

func checkJSON(t *testing.T, home string, args ...string) (status int, out judged) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	env := console.Env{Stdout: &stdout, Stderr: &stderr, Dir: home, Home: home, Getenv: func(string) string { return "" }}
	status = int(Main(t.Context(), env, append([]string{"check", "--json"}, args...)))
	if err := json.Unmarshal(stdout.Bytes(), &out); err != nil {
		t.Fatalf("%v: %s%s", err, stdout.String(), stderr.String())
	}
	return status, out
}

func (j judged) text() string {
	var parts []string
	short := func(names []string) string {
		for i, n := range names {
			names[i] = strings.TrimSuffix(strings.TrimPrefix(n, "skills/"), "/SKILL.md")
		}
		return strings.Join(names, ",")
	}
	for _, m := range j.Marketplaces {
		names := strings.Join(m.Plugins, ",")
		if m.Rejected {
			names = "rejected"
		}
		parts = append(parts, "…"+names+"/"+strings.Trim(strings.Join(m.Skipped, ","), ","))
	}
	for _, p := range j.Plugins {
		parts = append(parts, p.State, short(p.Skills)+"/"+short(p.SkippedSkills), strings.Join(p.Servers, ",")+"/"+strings.Join(p.SkippedServers, ","))
		if p.ServersDisabled {
			parts = append(parts, "off")
		}
	}
	var rules []string
	for _, f := range j.Findings {
		switch f.Severity {
		case "error":
			rules = append(rules, "!"+f.Rule)
		case "warning":
			rules = append(rules, f.Rule)
		}
	}
	slices.Sort(rules)
	return strings.Join(append(parts, rules...), " ")
}
