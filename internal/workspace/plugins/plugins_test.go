package plugins

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/knack-dev/knack/internal/base/agents"
)

// put writes files below a folder. HOME in a text stands for the folder.
func put(t *testing.T, home string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(home, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, "HOME", filepath.ToSlash(home))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func options(home string) Options {
	return Options{
		Homes: agents.Homes{Home: home}, Projects: []string{filepath.Join(home, "p")}, Patience: time.Minute,
		Shown: func(at string) string { return strings.ReplaceAll(filepath.ToSlash(at), filepath.ToSlash(home), "~") },
	}
}

// lines describes each plugin in a line.
func lines(f *Found) string {
	var out strings.Builder
	for _, p := range f.Plugins {
		fmt.Fprintf(&out, "%s|%s|%s|%s\n", p.ID, p.State, p.Label, p.Reason)
	}
	return out.String()
}

// claudeOne returns the files of a plugin that is installed and enabled in Claude Code.
func claudeOne(entry string) map[string]string {
	return map[string]string{
		".claude/plugins/installed_plugins.json":              `{"version": 2, "plugins": {"docs@acme": [` + entry + `]}}`,
		".claude/settings.json":                               `{"enabledPlugins": {"docs@acme": true}}`,
		".claude/plugins/cache/acme/docs/1/skills/a/SKILL.md": "---\nname: a\ndescription: A.\n---\n",
	}
}

const installed = `{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/docs/1"}`

// TestFind checks which plugins are enabled, and why the others are not.
func TestFind(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the files have slashes")
	}
	for name, test := range map[string]struct {
		files map[string]string
		links map[string]string
		want  string
	}{
		"nothing":   {want: ""},
		"installed": {files: claudeOne(installed), want: "docs@acme|enabled|claude-plugin-docs|\n"},
		"a folder outside the cache": {
			files: claudeOne(`{"scope": "user", "installPath": "HOME/secret"}`),
			want:  "docs@acme|damaged||its folder ~/secret is not in ~/.claude/plugins/cache\n",
		},
		"a folder that leads out by dots": {
			files: claudeOne(`{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/../../../../secret"}`),
			want:  "docs@acme|damaged||its folder ~/.claude/plugins/cache/acme/../../../../secret is not in ~/.claude/plugins/cache\n",
		},
		"a folder that is a link out": {
			files: claudeOne(`{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/docs/out"}`),
			links: map[string]string{".claude/plugins/cache/acme/docs/out": "secret"},
			want:  "docs@acme|damaged||its folder ~/.claude/plugins/cache/acme/docs/out is not in ~/.claude/plugins/cache\n",
		},
		"a folder that is a link within the cache": {
			files: claudeOne(`{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/docs/in"}`),
			links: map[string]string{".claude/plugins/cache/acme/docs/in": ".claude/plugins/cache/acme/docs/1"},
			want:  "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"a manifest that is a link out": {
			files: claudeOne(installed),
			links: map[string]string{".claude/plugins/cache/acme/docs/1/plugin.json": "secret/plugin.json"},
			want:  "docs@acme|damaged||its plugin.json leads out of its folder\n",
		},
		"folders of skills that lead out": {
			files: with(claudeOne(installed), ".claude/plugins/cache/acme/docs/1/.claude-plugin/plugin.json", `{"skills": ["./more", "../../x", "/etc", "./link"]}`),
			links: map[string]string{".claude/plugins/cache/acme/docs/1/link": "secret"},
			want: "docs@acme|enabled|claude-plugin-docs|the path '../../x' leads out of the plugin, and no client may follow it; " +
				"the path '/etc' leads out of the plugin, and no client may follow it; the folder link of its skills leads out of it, and is not served\n",
		},
		"two versions at once": { // the entry that was updated last applies
			files: with(claudeOne(`{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/docs/gone", "lastUpdated": "2026-01-01T00:00:00Z"}, `+
				`{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/docs/1", "lastUpdated": "2026-02-01T00:00:00Z"}`), "x", ""),
			want: "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"a list that is cut short": {
			files: with(claudeOne(installed), ".claude/plugins/installed_plugins.json", `{"version": 2, "plugins": {"docs@acme": [{"sco`),
			want:  "|damaged||~/.claude/plugins/installed_plugins.json cannot be read: line 1, column 47: the file ends in the middle of a value or a comment\n",
		},
		"a list of 16 MiB": {
			files: with(claudeOne(installed), ".claude/plugins/installed_plugins.json", `{"version": 2, "plugins": {}, "x": "`+strings.Repeat("x", 16<<20)+`"}`),
			want:  "|damaged||~/.claude/plugins/installed_plugins.json cannot be read: it has more than 8 MiB\n",
		},
		"a list that nests without end": {
			files: with(claudeOne(installed), ".claude/plugins/installed_plugins.json", strings.Repeat("[", 1<<20)),
			want:  "|damaged||~/.claude/plugins/installed_plugins.json cannot be read: line 1, column 201: it nests more than 200 levels deep\n",
		},
		"values of other types": {
			files: with(claudeOne(installed), ".claude/plugins/installed_plugins.json", `{"plugins": {"docs@acme": [1, {"scope": 2, "installPath": []}, null], "b@acme": "x", "c@acme": {}}}`),
			want: "b@acme|disabled||it is installed for other projects\nc@acme|disabled||it is installed for other projects\n" +
				"docs@acme|damaged||nothing says where its folder is\n",
		},
		"settings with comments and a trailing comma": {
			files: with(claudeOne(installed), ".claude/settings.json", "{\n// of mine\n\"enabledPlugins\": {\"docs@acme\": true,}, /* end */\n}"),
			want:  "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"settings that are damaged": {
			files: with(claudeOne(installed), ".claude/settings.json", "{"),
			want: "|damaged||~/.claude/settings.json cannot be read: line 1, column 2: the file ends in the middle of a value or a comment\n" +
				"docs@acme|disabled||no settings enable it\n",
		},
		"a plugin named ../x": {
			files: with(claudeOne(installed), ".claude/plugins/installed_plugins.json", `{"plugins": {"../x@acme": [`+installed+`], "x@../..": [`+installed+`]}}`),
			want:  "../x@acme|damaged||its name is not one that a plugin may have\nx@../..|damaged||its name is not one that a plugin may have\n",
		},
		"a plugin of Codex named ../x": {
			files: map[string]string{".codex/plugins/cache/x": "", ".codex/config.toml": "[plugins.\"../../x@acme\"]\nenabled = true\n[plugins.\"x@..\"]\n[plugins.y]\n"},
			want: "../../x@acme|damaged||its name is not one that a plugin may have\nx@..|damaged||its name is not one that a plugin may have\n" +
				"y|damaged||its name is not one that a plugin may have\n",
		},
		"the project disables": {
			files: with(claudeOne(installed), "p/.claude/settings.json", `{"enabledPlugins": {"docs@acme": false}}`),
			want:  "docs@acme|disabled||~/p/.claude/settings.json says so\n",
		},
		"the user enables in the project what the project disables": {
			files: with(with(claudeOne(installed), "p/.claude/settings.json", `{"enabledPlugins": {"docs@acme": false}}`), "p/.claude/settings.local.json", `{"enabledPlugins": {"docs@acme": true}}`),
			want:  "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"a project enables what is installed elsewhere": {
			files: with(claudeOne(`{"scope": "project", "projectPath": "HOME/other", "installPath": "HOME/.claude/plugins/cache/acme/docs/1"}`), "p/.claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`),
			want:  "docs@acme|disabled||it is installed for other projects\n",
		},
		"installed for this project": {
			files: with(claudeOne(`{"scope": "project", "projectPath": "HOME/p", "installPath": "HOME/.claude/plugins/cache/acme/docs/1"}`), "p/.claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`),
			want:  "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"a project names a marketplace": { // its file can only enable or disable plugins
			files: with(claudeOne(installed), "p/.claude/settings.json", `{"enabledPlugins": {"evil@here": true}, "extraKnownMarketplaces": {"here": {"source": {"source": "directory", "path": "HOME/p"}}}}`),
			want:  "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"a marketplace whose plugin leads out": {
			files: with(with(claudeOne(installed), ".claude/plugins/known_marketplaces.json", `{"acme": {"source": {"source": "directory", "path": "HOME/m"}}}`),
				"m/.claude-plugin/marketplace.json", `{"plugins": [{"name": "docs", "source": "../secret"}]}`),
			want: "docs@acme|damaged||its source leads out of its marketplace in ~/m\n",
		},
		"a marketplace with pluginRoot, which ./ leaves aside": {
			files: with(with(with(claudeOne(installed), ".claude/plugins/known_marketplaces.json", `{"acme": {"source": {"source": "directory", "path": "HOME/m"}}}`),
				"m/.claude-plugin/marketplace.json", `{"metadata": {"pluginRoot": "./plugins"}, "plugins": [{"name": "docs", "source": "./here"}]}`), "m/here/skills/a/SKILL.md", "x"),
			want: "docs@acme|enabled|claude-plugin-docs|\n",
		},
		"a marketplace that says strict: false of a plugin with commands": {
			files: with(with(with(claudeOne(installed), ".claude/plugins/known_marketplaces.json", `{"acme": {"source": {"source": "directory", "path": "HOME/m"}}}`),
				"m/.claude-plugin/marketplace.json", `{"plugins": [{"name": "docs", "source": "./docs", "strict": false}]}`), "m/docs/.claude-plugin/plugin.json", `{"name": "docs", "commands": "./commands"}`),
			want: "docs@acme|damaged||its manifest defines components, and its marketplace says strict: false\n",
		},
		"a marketplace whose plugin is a link out": {
			files: with(with(claudeOne(installed), ".claude/plugins/known_marketplaces.json", `{"acme": {"source": {"source": "directory", "path": "HOME/m"}}}`),
				"m/.claude-plugin/marketplace.json", `{"plugins": [{"name": "docs", "source": "./docs"}]}`),
			links: map[string]string{"m/docs": "secret"},
			want:  "docs@acme|damaged||its folder ~/m/docs is not in ~/m\n",
		},
		"a marketplace that has the plugin no longer": {
			files: with(with(claudeOne(installed), ".claude/plugins/known_marketplaces.json", `{"acme": {"source": {"source": "directory", "path": "HOME/m"}}}`),
				"m/.claude-plugin/marketplace.json", `{"plugins": [{"name": "other", "source": "./docs"}]}`),
			want: "docs@acme|damaged||its marketplace in ~/m has it no longer\n",
		},
		"an extension that is a link out": {
			files: map[string]string{"secret/gemini-extension.json": "{}", ".gemini/extensions/x": ""},
			links: map[string]string{".gemini/extensions/out": "secret"},
			want:  "out|damaged||its folder ~/.gemini/extensions/out is not in ~/.gemini/extensions\n",
		},
		"an extension that was linked by its client": {
			files: map[string]string{"mine/gemini-extension.json": "{}", ".gemini/extensions/mine/.gemini-extension-install.json": `{"type": "link", "source": "HOME/mine"}`},
			want:  "mine|enabled|gemini-plugin-mine|\n",
		},
		"an extension without a manifest": {
			files: map[string]string{".qwen/extensions/x/README.md": ""},
			want:  "x|damaged||it has no qwen-extension.json\n",
		},
		"an extension that a rule enables in the project alone": {
			files: map[string]string{".gemini/extensions/x/gemini-extension.json": "{}", ".gemini/extensions/extension-enablement.json": `{"x": {"overrides": ["!HOME/*", "HOME/p/"]}}`},
			want:  "x|enabled|gemini-plugin-x|\n",
		},
		"an extension that a rule disables in another folder": {
			files: map[string]string{".gemini/extensions/x/gemini-extension.json": "{}", ".gemini/extensions/extension-enablement.json": `{"x": {"overrides": ["!HOME/pp/*", "!HOME/p/q/*", "!HOME/"]}}`},
			want:  "x|enabled|gemini-plugin-x|\n",
		},
		"a plugin.json of an unknown version": {
			files: map[string]string{
				".codex/config.toml":                           "[plugins.\"docs@acme\"]\n",
				".codex/plugins/cache/acme/docs/1/plugin.json": `{"$schema": "https://agent-plugins.org/schemas/9.0.0/plugin.schema.json", "name": "docs"}`,
			},
			want: "docs@acme|damaged||its plugin.json has a $schema that is not known: https://agent-plugins.org/schemas/9.0.0/plugin.schema.json\n",
		},
		"plugins turned off in Codex": {
			files: map[string]string{".codex/config.toml": "[features]\nplugins = false\n[plugins.\"docs@acme\"]\n", ".codex/plugins/cache/acme/docs/1/plugin.json": `{}`},
			want:  "docs@acme|disabled||~/.codex/config.toml turns plugins off\n",
		},
		"two marketplaces have a plugin of one name": {
			files: map[string]string{
				".codex/config.toml":                        "[plugins.\"docs@b\"]\n[plugins.\"Docs@a\"]\n",
				".codex/plugins/cache/a/Docs/1/plugin.json": `{}`, ".codex/plugins/cache/b/docs/1/plugin.json": `{}`,
			},
			want: "Docs@a|enabled|codex-plugin-docs|\ndocs@b|enabled|codex-plugin-docs-2|\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			put(t, home, map[string]string{"secret/skills/s/SKILL.md": "---\nname: s\ndescription: S.\n---\n", "secret/plugin.json": "{}"})
			put(t, home, test.files)
			for at, to := range test.links {
				if err := os.Symlink(filepath.Join(home, to), filepath.Join(home, at)); err != nil {
					t.Fatal(err)
				}
			}
			if got := lines(Find(options(home))); got != test.want {
				t.Errorf("found:\n%swant:\n%s", got, test.want)
			}
		})
	}
}

func with(files map[string]string, name, text string) map[string]string {
	files[name] = text
	return files
}

// TestFindMany checks that plugins beyond the limit are disabled.
func TestFindMany(t *testing.T) {
	home := t.TempDir()
	var list, on []string
	for i := range 5000 {
		list = append(list, fmt.Sprintf(`"p%d@m": [{"scope": "user", "installPath": "HOME/.claude/plugins/cache/m/p/1"}]`, i))
		on = append(on, fmt.Sprintf(`"p%d@m": true`, i))
	}
	put(t, home, map[string]string{
		".claude/plugins/installed_plugins.json":       `{"plugins": {` + strings.Join(list, ",") + `}}`,
		".claude/settings.json":                        `{"enabledPlugins": {` + strings.Join(on, ",") + `}}`,
		".claude/plugins/cache/m/p/1/skills/README.md": "",
	})
	found := Find(options(home))
	states := map[State]int{}
	for _, p := range found.Plugins {
		states[p.State]++
	}
	if states[Enabled] != mostServed || states[Disabled] != 5000-mostServed {
		t.Errorf("5,000 plugins have the states %v", states)
	}
}

// TestFindLate checks that a client whose disk does not answer does not delay the others.
func TestFindLate(t *testing.T) { synctest.Test(t, testFindLate) }

func testFindLate(t *testing.T) {
	home := t.TempDir()
	put(t, home, map[string]string{".qwen/extensions/q/qwen-extension.json": "{}"})
	answer := make(chan struct{})
	defer func(was []client) { clients = was }(clients)
	clients = append([]client{{agent: "claude-code", label: "claude", home: "~/.claude", known: ".", cache: ".", find: func(*finder) { <-answer }}}, clients[3])
	if err := os.MkdirAll(filepath.Join(home, ".claude"), 0o755); err != nil {
		t.Fatal(err)
	}
	found := Find(options(home))
	if got := lines(found); !strings.HasPrefix(got, "|late|claude-plugin|the disk with ~/.claude does not answer") || !strings.Contains(got, "q|enabled|qwen-plugin-q|") {
		t.Errorf("found:\n%s", got)
	}
	close(answer)
	<-found.Answered
}

// TestChanged checks that a change of each file that matters is noticed.
func TestChanged(t *testing.T) {
	for name, text := range map[string]string{
		".claude/plugins/installed_plugins.json":                       `{}`,
		".claude/settings.json":                                        `{"enabledPlugins": {"docs@acme": false}}`,
		".claude/plugins/known_marketplaces.json":                      `{}`,
		"p/.claude/settings.json":                                      `{}`,
		"p/.claude/settings.local.json":                                `{}`,
		".claude/plugins/cache/acme/docs/1/.claude-plugin/plugin.json": `{"skills": "./a"}`,
		".codex/plugins/cache/x/y":                                     ``,
		".gemini/extensions/x":                                         ``,
		".copilot/config.json":                                         `{}`,
	} {
		home := t.TempDir()
		put(t, home, claudeOne(installed))
		found := Find(options(home))
		if found.Changed() {
			t.Fatalf("%s: changed before the change", name)
		}
		put(t, home, map[string]string{name: text})
		if !found.Changed() {
			t.Errorf("a change of %s is not seen", name)
		}
	}
}

// TestUnreadableHome checks that a client's folder that cannot be read is reported, and that the
// folders of other clients are read.
func TestUnreadableHome(t *testing.T) {
	if os.Geteuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("every folder can be read")
	}
	home := t.TempDir()
	put(t, home, claudeOne(installed))
	put(t, home, map[string]string{".qwen/extensions/q/qwen-extension.json": "{}"})
	if err := os.Chmod(filepath.Join(home, ".claude"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Join(home, ".claude"), 0o755) }()
	if got := lines(Find(options(home))); !strings.HasPrefix(got, "|damaged||~/.claude/plugins/installed_plugins.json cannot be read: ") || !strings.Contains(got, "q|enabled|") {
		t.Errorf("found:\n%s", got)
	}
}
