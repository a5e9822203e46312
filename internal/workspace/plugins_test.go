package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/internal/workspace/plugins"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// installing is a home folder in which Claude Code and Qwen Code install plugins.
type installing struct {
	t    *testing.T
	home string
}

func (h installing) write(name, text string) {
	h.t.Helper()
	at := filepath.Join(h.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, "HOME", filepath.ToSlash(h.home))), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h installing) skill(name string) {
	h.write(name+"/SKILL.md", "---\nname: "+filepath.Base(name)+"\ndescription: Text.\n---\n")
}

const claudeList = `{"plugins": {"docs@acme": [{"scope": "user", "installPath": "HOME/.claude/plugins/cache/acme/docs/%s"}]}}`

// TestPluginsWhileServing checks that a server notices when plugins are installed, enabled,
// disabled, updated and uninstalled.
func TestPluginsWhileServing(t *testing.T) {
	pluginsInterval = time.Hour // only events count
	t.Parallel()
	h := installing{t, t.TempDir()}
	w, err := Open(Options{Env: &console.Env{Dir: t.TempDir(), Home: h.home}, NoBuiltin: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Serve(Serving{}); err != nil {
		t.Fatal(err)
	}
	defer w.Start(t.Context())()
	served := func(want ...string) {
		t.Helper()
		var got []string
		testwait.Until(t, func() bool {
			v, err := w.Catalog().View(t.Context())
			if err != nil {
				return false
			}
			got = nil
			for _, e := range v.Listed {
				got = append(got, e.Root.Label+":"+e.Name)
			}
			return slices.Equal(got, want)
		}, want, &got)
	}
	served()
	h.skill(".claude/plugins/cache/acme/docs/1/skills/one")
	h.write(".claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`)
	h.write(".claude/plugins/installed_plugins.json", fmt.Sprintf(claudeList, "1"))
	served("claude-plugin-docs:one")
	h.skill(".qwen/extensions/q/skills/two")
	h.write(".qwen/extensions/q/qwen-extension.json", `{}`)
	served("claude-plugin-docs:one", "qwen-plugin-q:two")
	h.write(".claude/settings.json", `{"enabledPlugins": {"docs@acme": false}}`)
	served("qwen-plugin-q:two")
	h.write(".claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`)
	served("claude-plugin-docs:one", "qwen-plugin-q:two")
	h.skill(".claude/plugins/cache/acme/docs/2/skills/three")
	h.write(".claude/plugins/installed_plugins.json", fmt.Sprintf(claudeList, "2"))
	served("claude-plugin-docs:three", "qwen-plugin-q:two")
	h.skill(".claude/plugins/cache/acme/docs/2/more/four")
	h.write(".claude/plugins/cache/acme/docs/2/.claude-plugin/plugin.json", `{"skills": "./more"}`)
	served("claude-plugin-docs:four", "claude-plugin-docs:three", "qwen-plugin-q:two")
	if err := os.RemoveAll(filepath.Join(h.home, ".qwen")); err != nil {
		t.Fatal(err)
	}
	h.write(".claude/plugins/installed_plugins.json", `{"plugins": {}}`)
	served()
}

// TestPluginsOfClient checks that the list for a client has the plugins of the other clients and
// not its own.
func TestPluginsOfClient(t *testing.T) {
	t.Parallel()
	h := installing{t, t.TempDir()}
	h.skill(".claude/plugins/cache/acme/docs/1/skills/one")
	h.write(".claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`)
	h.write(".claude/plugins/installed_plugins.json", fmt.Sprintf(claudeList, "1"))
	h.skill(".qwen/extensions/q/skills/two")
	h.write(".qwen/extensions/q/qwen-extension.json", `{}`)
	w, err := Open(Options{Env: &console.Env{Dir: t.TempDir(), Home: h.home}, NoBuiltin: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Serve(Serving{}); err != nil {
		t.Fatal(err)
	}
	if err := w.Catalog().Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	for client, want := range map[string][]string{"Claude Code": {"two"}, "Qwen Code": {"one"}, "Codex": {"one", "two"}} {
		w.Catalog().AddClient(client)
		v, err := w.Catalog().View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range v.ListedFor(client) {
			got = append(got, e.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the list for %s has %v, want %v", client, got, want)
		}
		for _, name := range []string{"docs:one", "one", "two"} {
			if v.Named(name) == nil {
				t.Errorf("%s cannot be loaded", name)
			}
		}
	}
}

// TestPluginsOverHTTP checks that a server over HTTP does not serve the plugins of its account.
func TestPluginsOverHTTP(t *testing.T) {
	t.Parallel()
	h := installing{t, t.TempDir()}
	h.skill(".claude/plugins/cache/acme/docs/1/skills/one")
	h.write(".claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`)
	h.write(".claude/plugins/installed_plugins.json", fmt.Sprintf(claudeList, "1"))
	for address, want := range map[string]int{"": 1, "127.0.0.1:0": 0} {
		w, err := Open(Options{Env: &console.Env{Dir: t.TempDir(), Home: h.home}, NoBuiltin: true, HTTP: address})
		if err != nil {
			t.Fatal(err)
		}
		v, err := w.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Listed) != want {
			t.Errorf("at %q, %d skills of plugins are served, want %d", address, len(v.Listed), want)
		}
	}
}

// TestPluginsLate checks that the skills in other folders are served while the disk with a client's
// files does not answer, and that the state of the root for plugins says so.
func TestPluginsLate(t *testing.T) {
	t.Parallel()
	h := installing{t, t.TempDir()}
	h.skill("plain/one")
	answered := make(chan struct{})
	late := pluginRoots{found: &plugins.Found{Answered: answered}, byLabel: map[string]plugins.Plugin{"claude-plugin": {State: plugins.Late}}}
	source, ok := late.source(dir.Options{Root: skill.Root{Label: "claude-plugin"}})
	if !ok {
		t.Fatal("there is no source of late plugins")
	}
	plain := dir.New(dir.Options{Root: skill.Root{Label: "plain", Dir: filepath.Join(h.home, "plain")}})
	c := catalog.New([]catalog.Source{plain, source}, catalog.Options{Patience: 50 * time.Millisecond})
	for _, want := range []catalog.RootState{catalog.RootReading, catalog.RootUnreadable} {
		if err := c.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := c.View(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(v.Listed) != 1 || v.Roots[1].State() != want {
			t.Errorf("%d skills, and the root of late plugins is %q, want %q", len(v.Listed), v.Roots[1].State(), want)
		}
		if want == catalog.RootReading {
			close(answered)
		}
	}
}

// TestPluginContained checks that no link that leads out of a plugin is followed, and that skills
// are found only in the folders in which its client looks.
func TestPluginContained(t *testing.T) {
	t.Parallel()
	h := installing{t, t.TempDir()}
	top := ".claude/plugins/cache/acme/docs/1/"
	for _, at := range []string{"secret/skills/s", top + "skills/one", top + "skills/one/examples/nested", top + "skills/deep/er", top + "other/two"} {
		h.skill(at)
	}
	h.write(".claude/plugins/cache/acme/docs/1/.claude-plugin/plugin.json", `{"skills": ["./out", "./away/s"]}`)
	h.write(".claude/settings.json", `{"enabledPlugins": {"docs@acme": true}}`)
	h.write(".claude/plugins/installed_plugins.json", fmt.Sprintf(claudeList, "1"))
	for at, to := range map[string]string{top + "out": "secret/skills", top + "away": "secret/skills", top + "skills/out": "secret/skills/s", top + "skills/in": top + "other/two"} {
		if err := os.Symlink(filepath.Join(h.home, to), filepath.Join(h.home, at)); err != nil {
			t.Skip(err)
		}
	}
	w, err := Open(Options{Env: &console.Env{Dir: t.TempDir(), Home: h.home}, NoBuiltin: true})
	if err != nil {
		t.Fatal(err)
	}
	v, err := w.View(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range v.Entries {
		got = append(got, e.Path)
	}
	if want := []string{"skills/in", "skills/one"}; !slices.Equal(got, want) {
		t.Errorf("skills %v, want %v", got, want)
	}
	// The plugin's folder is replaced by a link after the plugins were found.
	from := filepath.Join(h.home, filepath.FromSlash(top))
	if err := os.RemoveAll(from); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(h.home, "secret"), from); err != nil {
		t.Fatal(err)
	}
	if v, err = w.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(v.Entries) > 0 || v.Roots[len(v.Roots)-1].State() == catalog.RootRead {
		t.Errorf("after the exchange: %d skills, root %+v", len(v.Entries), v.Roots[len(v.Roots)-1])
	}
}
