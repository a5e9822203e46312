// Package plugins finds the plugins that agents have installed, and determines which of them an
// agent loads in a project.
//
// Each client has a row in one table: where it records plugins, where it stores them, and which
// folders of a plugin have skills. [Find] follows only paths from files in the user's home. Such a
// path must be in the client's own cache, or in a marketplace that the user added there. A file of
// a project can enable or disable a plugin, but cannot give a path.
package plugins

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/source/dir"
)

// State tells how a client treats a plugin.
type State string

// The states. Only the skills of an enabled plugin are served.
const (
	Enabled  State = "enabled"
	Disabled State = "disabled"
	Damaged  State = "damaged"       // its client cannot load it, or knack cannot read it
	Orphaned State = "orphaned"      // it is in the cache of its client, but not installed
	Unknown  State = "state unknown" // it is unknown whether its client loads it
	Late     State = "late"          // the disk with the files of its client does not answer
)

// Plugin is one plugin of one client.
type Plugin struct {
	Client string // the agent's name
	ID     string // NAME@MARKETPLACE, or only the name; "" for a fault of the client's own files
	Name   string
	State  State
	Reason string // why it is not enabled, or which part of it is not served
	Fix    string

	Dir    string      // its folder
	Within string      // the folder that must contain Dir
	Places []dir.Place // the folders with its skills
	Label  string      // the label of its root, if it is enabled
}

// Options are the inputs of [Find].
type Options struct {
	Homes    agents.Homes
	Projects []string // absolute folders; a plugin is enabled if it is enabled in one of them
	// All also finds the plugins that no client loads: plugins in a cache that are not installed,
	// and plugins with an unknown state.
	All bool
	// Patience limits the wait for a client whose files do not answer.
	Patience time.Duration
	// Shown formats an absolute path for people.
	Shown func(path string) string
}

// Found is the result of [Find]: the plugins of all clients, in the order of the clients, and then
// by ID.
type Found struct {
	Plugins []Plugin
	// Answered is closed when every client was read. It is nil if all of them answered in time.
	Answered <-chan struct{}

	stamps map[string]stamp
}

// client is one agent with plugins.
type client struct {
	agent string // its id in the table of agents
	label string // before "-plugin-"
	home  string // a place of the table of agents
	// known is a file or folder below home that exists if the client has plugins. If there are
	// several, separated by semicolons, one of them is enough.
	known string
	cache string // the folder below home in which plugins are
	find  func(*finder)
	// manifests are the files that can describe a plugin; the first one that exists is read.
	manifests []string
	skills    skills
	enable    string // the command that enables a plugin, given its ID
	install   string // the command that installs it again, given its ID
}

// skills describes the folders of a plugin in which a client looks for skills. The default folder
// is "skills".
type skills struct {
	named   bool // the folders that the manifest names replace the default
	add     bool // the folders that the manifest names are added to the default
	deep    bool // skills may be at any depth
	native  bool // deep applies only with a manifest of the client's own
	top     bool // the plugin's folder may be a skill
	schemas bool // a plugin.json of an unknown version is refused
}

var clients = []client{
	{
		agent: "claude-code", label: "claude", home: "$CLAUDE_CONFIG_DIR", known: "plugins/installed_plugins.json", cache: "plugins/cache", find: (*finder).claude,
		manifests: []string{".claude-plugin/plugin.json", "plugin.json"}, skills: skills{named: true, add: true, top: true},
		enable: "claude plugin enable %s", install: "claude plugin install %s",
	},
	{
		agent: "codex", label: "codex", home: "$CODEX_HOME", known: "plugins/cache", cache: "plugins/cache", find: (*finder).codex,
		manifests: []string{".codex-plugin/plugin.json", ".claude-plugin/plugin.json", "plugin.json"}, skills: skills{named: true, deep: true, native: true, schemas: true},
		enable: "set enabled = true for %s in Codex's config.toml", install: "codex plugin add %s",
	},
	{
		agent: "gemini-cli", label: "gemini", home: "$GEMINI_CLI_HOME/.gemini", known: "extensions", cache: "extensions", find: (*finder).extensions,
		manifests: []string{"gemini-extension.json"},
		enable:    "gemini extensions enable %s", install: "gemini extensions install SOURCE",
	},
	{
		agent: "qwen-code", label: "qwen", home: "$QWEN_HOME", known: "extensions", cache: "extensions", find: (*finder).extensions,
		manifests: []string{"qwen-extension.json"},
		enable:    "qwen extensions enable %s", install: "qwen extensions install SOURCE",
	},
	{
		agent: "copilot-cli", label: "copilot", home: "$COPILOT_HOME", known: "settings.json;config.json", cache: "installed-plugins", find: (*finder).copilot,
		manifests: []string{".claude-plugin/plugin.json", ".github/plugin/plugin.json", "plugin.json"}, skills: skills{named: true, deep: true, top: true, schemas: true},
		enable: "copilot plugin enable %s", install: "copilot plugin install %s",
	},
	{agent: "cursor", label: "cursor", home: "~/.cursor", known: "plugins", cache: "plugins", find: (*finder).cursor},
}

// group returns the word with which the labels of a client's plugins begin.
func (c client) group() string { return c.label + "-plugin" }

// mostServed limits the number of plugins whose skills are served. Each is a root, and people have
// some dozens.
const mostServed = 512

// IsLabel reports whether a label belongs to a plugin, such as claude-plugin-docs, or is the common
// prefix of the labels of a client, such as claude-plugin.
func IsLabel(label string) bool { return Group(label) != "" }

// Group returns the common prefix of the labels of one client's plugins, such as claude-plugin,
// given one of the labels or the prefix. It returns "" for any other label.
func Group(label string) string {
	for _, c := range clients {
		if rest, ok := strings.CutPrefix(label, c.group()); ok && (rest == "" || rest[0] == '-') {
			return c.group()
		}
	}
	return ""
}

// Find finds the plugins of all clients.
func Find(o Options) *Found {
	found := &Found{stamps: map[string]stamp{}}
	finders := make([]*finder, len(clients))
	var asking, reading sync.WaitGroup
	for i, c := range clients {
		f := newFinder(o, c)
		finders[i] = f
		reading.Add(1)
		asking.Go(func() {
			work := func() bool {
				defer reading.Done()
				f.run()
				return true
			}
			if realpath.Silent(f.at) {
				go func() {
					_ = realpath.Await(context.Background(), f.at)
					work()
				}()
				return
			}
			realpath.AskFor(o.Patience, f.at, false, work)
		})
	}
	asking.Wait()
	all := make(chan struct{})
	go func() {
		reading.Wait()
		close(all)
	}()
	for _, f := range finders {
		if !f.isDone() {
			found.Answered = all
			found.Plugins = append(found.Plugins, f.late())
			continue
		}
		found.Plugins = append(found.Plugins, f.plugins...)
		maps.Copy(found.stamps, f.stamps)
	}
	found.label()
	return found
}

// label gives the enabled plugins their labels. Of two with the same label, the second gets a
// number.
func (f *Found) label() {
	taken := map[string]bool{}
	for i := range f.Plugins {
		p := &f.Plugins[i]
		if p.State == Late {
			continue
		}
		if p.State != Enabled {
			p.Label = ""
			continue
		}
		if len(taken) == mostServed {
			*p = beyond(*p)
			continue
		}
		base := p.Label
		for n := 2; taken[p.Label]; n++ {
			p.Label = fmt.Sprintf("%s-%d", base, n)
		}
		taken[p.Label] = true
	}
}

// beyond returns a plugin beyond the limit, which is not served.
func beyond(p Plugin) Plugin {
	p.State, p.Label, p.Places = Disabled, "", nil
	p.Reason, p.Fix = fmt.Sprintf("knack serves the skills of %d plugins at most", mostServed), "disable others"
	return p
}

// Folders returns the folders to watch for changes of the plugins. For a missing file or folder, it
// returns the nearest existing folder above.
func (f *Found) Folders() []string {
	seen := map[string]bool{}
	for at, s := range f.stamps {
		if !s.folder {
			at = filepath.Dir(at)
		}
		for !seen[at] {
			if now, _ := stampOf(at); now.folder || at == filepath.Dir(at) {
				seen[at] = true
				break
			}
			at = filepath.Dir(at)
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// Changed reports whether one of the files has changed, has been created or has been removed.
func (f *Found) Changed() bool {
	if f == nil {
		return true
	}
	for path, was := range f.stamps {
		if now, _ := stampOf(path); now != was {
			return true
		}
	}
	return false
}

// stamp identifies the state of a file or folder. It is zero if there is no such file.
type stamp struct {
	size   int64
	time   time.Time
	folder bool
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stamp{info.Size(), info.ModTime(), info.IsDir()}, nil
}

// name matches a plugin or marketplace name that is safe as a part of a path.
var name = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,99}$`)
})

// split splits the ID of a plugin at its last "@". ok is false unless its parts are valid names.
func split(id string) (plugin, marketplace string, ok bool) {
	plugin, marketplace = id, ""
	if i := strings.LastIndexByte(id, '@'); i > 0 {
		plugin, marketplace = id[:i], id[i+1:]
		if !name().MatchString(marketplace) {
			return plugin, marketplace, false
		}
	}
	return plugin, marketplace, name().MatchString(plugin)
}

// labelOf returns the label of a plugin's root, which has only lower-case letters, digits and "-".
func (c client) labelOf(plugin string) string {
	return c.group() + "-" + strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '-'
	}, strings.ToLower(plugin)), "-")
}
