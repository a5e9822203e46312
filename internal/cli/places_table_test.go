package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace"
)

// user is a user of a machine with a project. Every folder in the table of agents may have a skill.
type user struct {
	t             *testing.T
	home, project string
	vars          map[string]string
	puts          map[string]string // maps a folder to the first skill in it
}

func newUser(t *testing.T) *user {
	top := t.TempDir()
	u := &user{t: t, home: filepath.Join(top, "home"), project: filepath.Join(top, "project"), vars: map[string]string{}, puts: map[string]string{}}
	for _, folder := range []string{u.home, filepath.Join(u.project, ".git")} {
		u.must(os.MkdirAll(folder, 0o755))
	}
	return u
}

func (u *user) must(err error) {
	u.t.Helper()
	if err != nil {
		u.t.Fatal(err)
	}
}

func (u *user) homes() agents.Homes {
	return agents.Homes{Home: u.home, Getenv: func(name string) string { return u.vars[name] }}
}

// run runs knack, and returns its stdout and stderr.
func (u *user) run(stdin string, args ...string) (out, errs string) {
	u.t.Helper()
	var o, e strings.Builder
	env := console.Env{Stdin: strings.NewReader(stdin), Stdout: &o, Stderr: &e, Dir: u.project, Home: u.home, Getenv: u.homes().Getenv}
	if code := Main(u.t.Context(), env, args); code != command.Done {
		u.t.Fatalf("%q: exit status %d: %s", args, code, e.String())
	}
	return o.String(), e.String()
}

// put writes a skill to a folder. The skill has the name of a root.
func (u *user) put(name, folder string) {
	u.t.Helper()
	at := filepath.Join(folder, name)
	u.must(os.MkdirAll(at, 0o755))
	u.must(os.WriteFile(filepath.Join(at, "SKILL.md"), fmt.Appendf(nil, "---\nname: %s\ndescription: Is in a place.\n---\n", name), 0o644))
	if u.puts[folder] == "" {
		u.puts[folder] = name
	}
}

// detect creates the first path by which an agent is detected.
func (u *user) detect(a *agents.Agent) {
	if place, key, ok := strings.Cut(a.Detect[0], "#"); ok {
		u.must(os.WriteFile(filepath.Join(u.project, place), fmt.Appendf(nil, `{"dependencies": {%q: "1"}}`, key), 0o644))
	} else {
		u.must(os.MkdirAll(filepath.FromSlash(u.homes().Path(place)), 0o755))
	}
}

// labels returns the label of the root of each skill, by the name of the skill.
func (u *user) labels() map[string]string {
	out, _ := u.run("", "list", "--json", "--no-builtin")
	var list struct {
		Skills []struct{ Name, Root string }
	}
	u.must(json.Unmarshal([]byte(out), &list))
	labels := map[string]string{}
	for _, s := range list.Skills {
		labels[s.Name] = s.Root
	}
	return labels
}

// readers returns the clients that doctor lists for each root.
func (u *user) readers() map[string][]string {
	out, _ := u.run("", "doctor", "--json", "--no-builtin")
	var report struct {
		Roots []struct {
			Label   string
			Clients []string
		}
	}
	u.must(json.Unmarshal([]byte(out), &report))
	readers := map[string][]string{}
	for _, r := range report.Roots {
		readers[r.Label] = r.Clients
	}
	return readers
}

// TestEveryPlace checks that list and doctor show a skill in any folder of the table, with the
// label of its root and with its client. The first sentence of the README promises this.
func TestEveryPlace(t *testing.T) {
	for _, moved := range []bool{false, true} {
		u := newUser(t)
		if moved {
			for _, v := range agents.Variables() {
				u.vars[v.Name] = filepath.Join(filepath.Dir(u.home), "moved", v.Name)
			}
		}
		want := map[string]string{}
		place := func(label, folder string, a *agents.Agent) {
			u.put(label, folder)
			want[label] = u.puts[folder]
		}
		for _, p := range agents.Pairs() {
			if p.Common {
				u.detect(p.Agent)
			}
			if p.Project != "" {
				place(p.InProject, filepath.Join(u.project, filepath.FromSlash(p.Project)), p.Agent)
			}
			if at := u.homes().Path(p.Home); at != "" {
				place(p.AtHome, filepath.FromSlash(at), p.Agent)
			}
		}
		if moved && len(want) != len(agents.Labels()) {
			t.Errorf("%d places of %d", len(want), len(agents.Labels()))
		}
		got, readers := u.labels(), u.readers()
		for label, root := range want {
			if got[label] != root {
				t.Errorf("the skill in the folder of %s is listed under %q, want %s", label, got[label], root)
			}
		}
		for _, p := range agents.Pairs() {
			for _, label := range []string{p.InProject, p.AtHome} {
				if want[label] == label && !slices.Contains(readers[label], p.Agent.Name) {
					t.Errorf("doctor says that %q read %s, without %s", readers[label], label, p.Agent.Name)
				}
			}
		}
	}
}

// TestCommonNames checks that a folder with a name that other things use too counts only if the
// agent is detected.
func TestCommonNames(t *testing.T) {
	for _, p := range agents.Pairs() {
		if !p.Common {
			continue
		}
		u := newUser(t)
		u.put("it", filepath.Join(u.project, filepath.FromSlash(p.Project)))
		u.must(os.WriteFile(filepath.Join(u.project, "package.json"), []byte(`{"dependencies": {"evergreen": "1"}, "name": "eve"}`), 0o644))
		if got := u.labels(); len(got) > 0 {
			t.Errorf("%s is read without %s: %v", p.Project, p.Agent.Name, got)
		}
		u.detect(p.Agent)
		if got := u.labels(); got["it"] != p.InProject {
			t.Errorf("%s is not read with %s: %v", p.Project, p.Agent.Name, got)
		}
	}
}

// TestMovedHomes checks that each variable moves the home of its agent for list, doctor, connect,
// add and a server over stdio. Nothing in the old folder may be read. A server over HTTP ignores
// the variable.
func TestMovedHomes(t *testing.T) {
	t.Parallel()
	for _, v := range agents.Variables() {
		if !v.Moves {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			u := newUser(t)
			to := filepath.Join(filepath.Dir(u.home), "moved")
			var label, folder string // of the last root that moved
			names := 0
			for _, p := range agents.Pairs() {
				if rest, ok := strings.CutPrefix(p.Home, "$"+v.Name+"/"); ok && p.AtHome != "crush-user" { // crush's other folder stays
					if old := u.homes().Path(p.Home); old != "" {
						u.put("old", filepath.FromSlash(old))
					}
					label, folder = p.AtHome, filepath.Join(to, filepath.FromSlash(rest))
					u.put(label, folder)
					names++
				}
			}
			u.vars[v.Name] = to
			got := u.labels()
			if got[label] != label || len(got) != names {
				t.Errorf("list has %v, want %d of %s", got, names, to)
			}
			if _, ok := u.readers()[label]; !ok {
				t.Errorf("doctor has no %s", label)
			}
			text, _ := u.run("", "doctor")
			if !strings.Contains(text, label+" ("+folder+")") {
				t.Errorf("doctor does not name %s:\n%s", folder, text)
			}
			answer, _ := u.run(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill","arguments":{"name":"`+label+`"}}}
`, "serve")
			if !strings.Contains(answer, filepath.ToSlash(filepath.Join(folder, label))) {
				t.Errorf("serve does not load %s: %s", label, answer)
			}
			source := filepath.Join(filepath.Dir(u.home), "source")
			u.put("added", source)
			said, hint := u.run("", "add", source, "--to", folder)
			if !strings.Contains(hint, folder+" see it") && !strings.Contains(hint, " reads "+folder) { // if it is installed
				t.Errorf("add does not know %s: %s%s", folder, said, hint)
			}
			env := console.Env{Home: u.home, Dir: u.project, Getenv: u.homes().Getenv}
			server, err := workspace.Open(workspace.Options{Env: &env, HTTP: "127.0.0.1:0"})
			u.must(err)
			for _, r := range server.Roots() {
				if strings.HasPrefix(r.Dir, to) {
					t.Errorf("a server over HTTP reads %s", r.Dir)
				}
			}
		})
	}
	for id, file := range map[string]string{
		"claude-code": "CLAUDE_CONFIG_DIR/.claude.json", "codex": "CODEX_HOME/config.toml", "copilot-cli": "COPILOT_HOME/mcp-config.json", "gemini-cli": "GEMINI_CLI_HOME/.gemini/settings.json",
		"qwen-code": "QWEN_HOME/settings.json", "opencode": "XDG_CONFIG_HOME/opencode/opencode.jsonc", "continue": "CONTINUE_GLOBAL_DIR/config.yaml",
	} {
		u := newUser(t)
		name, rest, _ := strings.Cut(file, "/")
		u.vars[name] = filepath.Join(u.home, "moved")
		if out, _ := u.run("", "connect", id, "--json"); !strings.Contains(out, filepath.ToSlash(filepath.Join(u.home, "moved", rest))) {
			t.Errorf("connect %s does not know %s: %s", id, name, out)
		}
	}
}

// TestMovedBadly checks that a value that is not a folder is reported and ignored, and that skills
// in the project keep the project's label.
func TestMovedBadly(t *testing.T) {
	u := newUser(t)
	u.put("mine", filepath.Join(u.home, ".codex", "skills"))
	u.put("rel", filepath.Join(u.project, "rel", "skills"))
	file := filepath.Join(u.home, "file")
	u.must(os.WriteFile(file, nil, 0o644))
	for value, warning := range map[string]string{
		"":                            "",
		"rel":                         "warning: CODEX_HOME is rel, which is no absolute path: knack reads ~/.codex instead\n",
		"~/x":                         "warning: CODEX_HOME is ~/x, which is no absolute path: knack reads ~/.codex instead\n",
		file:                          "warning: CODEX_HOME is " + file + ", which is no folder; name a folder, or unset it\n",
		filepath.Join(u.home, "gone"): "",
	} {
		u.vars["CODEX_HOME"] = value
		_, said := u.run("", "list")
		got := u.labels()
		if want := !filepath.IsAbs(value); said != warning || (got["mine"] == "codex-user") != want || got["rel"] != "" {
			t.Errorf("CODEX_HOME=%s: %v, %q, want %q", value, got, said, warning)
		}
	}
	u.vars["CODEX_HOME"] = filepath.Join(u.project, "rel")
	if out, _ := u.run("", "list", "--json"); !strings.Contains(out, `"scope": "project"`) || u.labels()["rel"] != "codex-user" {
		t.Errorf("a home in the project: %s", out)
	}
	u.vars["CODEX_HOME"] = filepath.Join(u.project, ".codex")
	u.put("same", filepath.Join(u.project, ".codex", "skills"))
	if got := u.labels(); got["same"] != "codex-project" {
		t.Errorf("a home that is the project's folder: %v", got)
	}
	u.vars["CODEX_HOME"] = ""
	u.vars["XDG_CONFIG_HOME"] = file
	if got := u.labels(); got["mine"] != "codex-user" {
		t.Errorf("XDG_CONFIG_HOME names a file: %v", got)
	}
}
