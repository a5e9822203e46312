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

// movedHomes lists the environment variables that move a client's home. from is the folder of the
// client's settings below the usual home, and to their folder below the moved home.
var movedHomes = []struct {
	agent, variable string
	from, to        string
	skills          string // the folder of skills below the moved home
	adds            bool   // set if the client still reads the usual folder, too
}{
	{agent: "Claude Code", variable: "CLAUDE_CONFIG_DIR", from: ".claude", to: ".", skills: "skills"},
	{agent: "Codex, other models", variable: "CODEX_HOME", from: ".codex", to: ".", skills: "skills"},
	{agent: "Gemini CLI", variable: "GEMINI_CLI_HOME", from: ".gemini", to: ".gemini", skills: ".gemini/skills"},
	{agent: "Qwen Code", variable: "QWEN_HOME", from: ".qwen", to: ".", skills: "skills"},
	{agent: "Copilot CLI", variable: "COPILOT_HOME", from: ".copilot", to: ".", skills: "skills"},
	{agent: "OpenCode", variable: "XDG_CONFIG_HOME", from: ".config", to: ".", skills: "opencode/skills"},
	{agent: "OpenCode", variable: "OPENCODE_CONFIG_DIR", to: ".", skills: "skills", adds: true},
}

// TestMovedHomes moves the home of each client with its variable. It checks that the client shows
// its model the skill in the moved home, and not the skill in the usual folder, and that knack
// lists the same skills.
func TestMovedHomes(t *testing.T) {
	value := os.Getenv(which)
	if value == "" {
		t.Skipf("real clients run with make plugins, or where %s names them", which)
	}
	for _, c := range movedHomes {
		a := agents[slices.IndexFunc(agents, func(a agent) bool { return a.name == c.agent })]
		t.Run(c.variable, func(t *testing.T) {
			if !a.chosen(value) {
				t.Skipf("%s=%s does not name %s", which, value, a.folder)
			}
			a.installed(t)
			t.Parallel()
			usual, moved := a.own, ""
			env := a.env
			a.env = func(r *session) []string { return append(env(r), c.variable+"="+moved) }
			r := begin(t, a, "moved "+c.variable, "", &play{})
			moved = filepath.Join(r.dir, "moved")
			if err := os.MkdirAll(filepath.Dir(filepath.Join(moved, c.to)), 0o755); err != nil {
				t.Fatal(err)
			}
			if from := filepath.Join(r.home, c.from); c.from != "" {
				if _, err := os.Stat(from); err == nil {
					if err := os.Rename(from, filepath.Join(moved, c.to)); err != nil {
						t.Fatal(err)
					}
				}
			}
			describe := func(name string) string { return "Lies in the " + name + " folder of a client." }
			for name, at := range map[string]string{"moved": filepath.Join(moved, c.skills), "usual": filepath.Join(r.home, usual)} {
				text := fmt.Sprintf("---\nname: %s-one\ndescription: %s\n---\nNothing to do.\n", name, describe(name))
				if err := write(at, map[string]string{name + "-one/SKILL.md": text}); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"moved"}
			if c.adds {
				want = append(want, "usual")
			}
			in := func(text string) (found []string) {
				for _, name := range []string{"moved", "usual"} {
					if strings.Contains(text, describe(name)) {
						found = append(found, name)
					}
				}
				return found
			}
			if err := r.client(a.args(r, prompt)...); err != nil {
				t.Error(err)
			}
			requests := r.model.Requests()
			if len(requests) == 0 {
				t.Fatalf("%s asked no model: %s%s", a.title, tail(r.stdout), tail(r.stderr))
			}
			theirs := in(plain(requests[0].Text()))
			binary, err := knack()
			if err == nil {
				err = r.start(binary, "list", "--json", "--no-builtin", "--project", r.project)
			}
			if err != nil {
				t.Fatal(err)
			}
			var v struct {
				Skills []struct{ Description string }
			}
			if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
				t.Fatal(err)
			}
			var texts []string
			for _, s := range v.Skills {
				texts = append(texts, s.Description)
			}
			ours := in(strings.Join(texts, "\n"))
			if !slices.Equal(theirs, want) || !slices.Equal(ours, want) {
				t.Errorf("with %s, %s shows %q and knack %q, want %q", c.variable, a.title, theirs, ours, want)
			}
		})
	}
}
