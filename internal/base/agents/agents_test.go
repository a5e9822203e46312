package agents

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestTable checks that each row of the table is complete, and that all labels and variables in it
// exist.
func TestTable(t *testing.T) {
	header, rows, _ := strings.Cut(file, "\n")
	columns := strings.Count(header, "\t")
	for row := range strings.Lines(rows) {
		if strings.Count(row, "\t") != columns || strings.Contains(row, "\t\t") || strings.Contains(row, "\t\n") || strings.TrimSpace(row) == "" {
			t.Fatalf("a row without all %d columns: %q", columns+1, row)
		}
	}
	names, variables, labels := map[string]string{}, map[string]string{}, Labels()
	for _, v := range Variables() {
		if _, twice := variables[v.Name]; twice || v.Name == "" || v.Default != "" && !strings.HasPrefix(v.Default, "~") {
			t.Errorf("the variable %q, of %q", v.Name, v.Default)
		}
		variables[v.Name] = v.Default
	}
	place := func(agent, at string) {
		first, rest, _ := strings.Cut(at, "/")
		_, known := variables[strings.TrimPrefix(first, "$")]
		if first != "" && first != "." && first != "~" && !(known && first[0] == '$') || rest != "" && path.Clean(rest) != rest {
			t.Errorf("%s: %q is no place", agent, at)
		}
	}
	for _, a := range All() {
		if a.ID == "" || a.Name == "" || a.Source == "" {
			t.Errorf("%+v is not complete", a)
		}
		if a.Name != Any && names[a.Name] != "" {
			t.Errorf("%s and %s are both %s", names[a.Name], a.ID, a.Name)
		}
		names[a.Name] = a.ID
		for _, r := range a.Reads {
			if !slices.Contains(labels, r) {
				t.Errorf("%s reads %s, which no row has", a.ID, r)
			}
		}
		for _, at := range slices.Concat(a.Detect, a.Off) {
			file, _, _ := strings.Cut(at, "#")
			place(a.ID, file)
		}
	}
	seen := map[string]string{}
	for _, p := range Pairs() {
		for folder, scope := range map[string]string{p.Project: "project", p.Home: "home"} {
			if seen[scope+folder] != "" && folder != "" {
				t.Errorf("%s and %s both have %s", p.Label, seen[scope+folder], folder)
			}
			seen[scope+folder] = p.Label
		}
		if p.Project == "" && p.Home == "" || p.Source == "" || p.Project != "" && path.Clean(p.Project) != p.Project || seen[p.Label] != "" {
			t.Errorf("%+v is not complete, or there twice", p)
		}
		seen[p.Label] = p.Label
		if p.Home != "" {
			place(p.Label, p.Home)
		}
	}
}

// TestOrder checks the labels and their order, which are promises: URIs, rules and entries of
// clients have them.
func TestOrder(t *testing.T) {
	want := strings.Fields(`agent-project agent-user claude-project claude-user agents-project agents-user wave-project wave-user
		codex-project codex-user gemini-project gemini-user cursor-project cursor-user copilot-project copilot-user
		opencode-project opencode-user opencode-skill-project opencode-skill-user goose-project goose-user windsurf-project windsurf-user
		amp-user amp-config-user qwen-project qwen-user cline-project cline-user clinerules-project continue-project continue-user
		crush-project crush-user kilo-project kilo-user kilo-config-user kilocode-project kilocode-user opencode-home-user`)
	difftest.Same(t, Labels()[:len(want)], want)
}

func TestReads(t *testing.T) {
	for id, want := range map[string]string{
		"claude-code": "claude-project claude-user",
		"copilot-cli": "copilot-project copilot-user agents-project agents-user claude-project",
		"crush":       "crush-project crush-user agents-project agents-user claude-project claude-user cursor-project amp-user crush-home-user",
	} {
		if got := strings.Join(Find(id).Reads, " "); got != want {
			t.Errorf("%s reads %s, want %s", id, got, want)
		}
	}
	if got := Readers([]string{"dir-1", "cursor-project-3"}); !slices.Equal(got, []string{"Cursor", "Crush"}) {
		t.Errorf("a project's parent's is read by %q", got)
	}
}

func TestPath(t *testing.T) {
	set := map[string]string{"CODEX_HOME": "/c/", "XDG_CONFIG_HOME": "x", "CLAUDE_CONFIG_DIR": "~/c", "QWEN_HOME": "", "GEMINI_CLI_HOME": "/g"}
	moved := Homes{Home: "/h", Getenv: func(name string) string { return set[name] }}
	for _, c := range []struct {
		homes       Homes
		place, want string
	}{
		{moved, "~/.x/skills", "/h/.x/skills"},
		{moved, "$CODEX_HOME/skills", "/c/skills"},
		{moved, "$CODEX_HOME", "/c/"},
		{moved, "$GEMINI_CLI_HOME/.gemini/skills", "/g/.gemini/skills"},
		{moved, "$XDG_CONFIG_HOME/goose/skills", "/h/.config/goose/skills"}, // relative
		{moved, "$CLAUDE_CONFIG_DIR/skills", "/h/.claude/skills"},           // no shell replaced ~
		{moved, "$QWEN_HOME/skills", "/h/.qwen/skills"},                     // empty
		{moved, "/etc/codex", "/etc/codex"},
		{moved, "", ""},
		{Homes{Home: "/h"}, "$CODEX_HOME/skills", "/h/.codex/skills"},
		{Homes{Home: "/h"}, "$GEMINI_CLI_HOME/.gemini", "/h/.gemini"},
		{Homes{Home: "/h/"}, "~/.x", "/h/.x"},
		{Homes{}, "~/.x", ""},
		{Homes{}, "$CODEX_HOME/skills", ""},
	} {
		if got := c.homes.Path(c.place); got != c.want {
			t.Errorf("%q is %q, want %q", c.place, got, c.want)
		}
	}
}

// TestOwn checks that the own folder of each agent is among the folders that the agent reads.
func TestOwn(t *testing.T) {
	h := Homes{Home: "/h", Getenv: func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": "/moved"}[name] }}
	for _, a := range All() {
		for _, project := range []string{"/p", ""} {
			if own := h.Own(a, project); own != "" && !slices.Contains(h.Folders(a, project), own) {
				t.Errorf("%s does not read its own %s", a.ID, own)
			}
		}
	}
	if own := h.Own(Find("claude-code"), ""); own != "/moved/skills" {
		t.Errorf("moved: %s", own)
	}
	if got := h.Folders(Find("codex"), "/p"); !slices.Equal(got, []string{"/p/.agents/skills", "/p/.codex/skills"}) {
		t.Errorf("Codex reads %s", got)
	}
}
