package clientconfig

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/edit"
)

// tree makes a home folder and a project with the given files. The name of a file begins with ~/ or
// ./. A content that begins with -> makes a link.
func tree(t *testing.T, files map[string]string) Env {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p := Env{OS: "linux", Home: filepath.Join(dir, "home"), Project: filepath.Join(dir, "project")}
	for _, d := range []string{p.Home, p.Project} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range files {
		at := p.at(name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "->"); ok {
			if err := os.Symlink(p.at(to), at); err != nil {
				t.Skip(err)
			}
		} else if err := os.WriteFile(at, []byte(strings.ReplaceAll(text, "PROJECT", p.Project)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p Env) at(name string) string {
	switch {
	case strings.HasPrefix(name, "~/"):
		return filepath.Join(p.Home, filepath.FromSlash(name[2:]))
	case strings.HasPrefix(name, "./"):
		return filepath.Join(p.Project, filepath.FromSlash(name[2:]))
	}
	return name
}

// name is the inverse of at: it returns the name of a path.
func (p Env) name(at string) string {
	at = strings.Replace(at, p.Home, "~", 1)
	return filepath.ToSlash(strings.Replace(at, p.Project, ".", 1))
}

const (
	ownCLI   = `{"mcpServers": {"knack": {"type": "stdio", "command": "/old/knack", "args": ["serve", "--dir", "/mine"], "env": {}}}}`
	elseCLI  = `{"mcpServers": {"knack": {"command": "npx", "args": ["-y", "serve"]}}}`
	another  = `{"mcpServers": {"skills": {"command": "/old/knack.exe", "args": ["serve", "--dir=/mine"]}}}`
	ownURL   = `{"mcpServers": {"knack": {"type": "http", "url": "https://skills.example.com/mcp", "headers": {"X": "y"}}}}`
	theirs   = `{"mcp": {"knack": {"type": "local", "command": ["/old/knack", "serve"], "enabled": false}}}`
	localCLI = `{"projects": {"PROJECT": {"mcpServers": {"knack": {"type": "stdio", "command": "/old/knack", "args": ["serve", "--dir", "/mine"]}}}}}`
)

// TestPlan checks which file and which fields change, for every kind of existing entry.
func TestPlan(t *testing.T) {
	command := []Difference{{"command", `"/old/knack"`, `"/opt/knack"`}}
	for name, c := range map[string]struct {
		id     string
		files  map[string]string
		choice Choice
		server Server
		want   Change
	}{
		"nothing yet":               {"claude-code", nil, Choice{}, here, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Absent}},
		"no project's file":         {"claude-code", map[string]string{"./.mcp.json": `{"mcpServers": {"a": {}}}`}, Choice{}, here, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Absent}},
		"of the user":               {"claude-code", map[string]string{"~/.claude.json": ownCLI}, Choice{}, here, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
		"of the user in a project":  {"claude-code", map[string]string{"~/.claude.json": localCLI}, Choice{}, here, Change{File: "~/.claude.json", Scope: Local, Key: "projects.PROJECT.mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
		"of the project":            {"claude-code", map[string]string{"./.mcp.json": ownCLI}, Choice{}, here, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Absent, OverriddenBy: &Change{Name: "knack", File: "./.mcp.json", Scope: Project, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}}},
		"of both":                   {"qwen-code", map[string]string{"./.qwen/settings.json": ownCLI, "~/.qwen/settings.json": ownCLI}, Choice{}, here, Change{File: "~/.qwen/settings.json", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command, OverriddenBy: &Change{Name: "knack", File: "./.qwen/settings.json", Scope: Project, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}}},
		"of a project's user":       {"claude-code", map[string]string{"~/.claude.json": localCLI, "./.mcp.json": ownCLI}, Choice{Scope: Project}, here, Change{File: "./.mcp.json", Scope: Project, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command, OverriddenBy: &Change{Name: "knack", File: "~/.claude.json", Scope: Local, Key: "projects.PROJECT.mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}}},
		"the project's other name":  {"cursor", map[string]string{"./.cursor/mcp.json": another}, Choice{}, here, Change{Name: "skills", File: "./.cursor/mcp.json", Scope: Project, Key: "mcpServers.skills", State: Outdated, Command: []string{"/old/knack.exe", "serve", "--dir=/mine"}, Shared: true, Differences: []Difference{{"command", `"/old/knack.exe"`, `"/opt/knack"`}, {"args", `["serve","--dir=/mine"]`, `["serve","--dir=/mine","--entry","skills"]`}}}},
		"of the project, asked for": {"claude-code", map[string]string{"./.mcp.json": ownCLI}, Choice{Scope: Project}, here, Change{File: "./.mcp.json", Scope: Project, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
		"beside the project's":      {"claude-code", map[string]string{"./.mcp.json": ownCLI}, Choice{Scope: User}, here, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Absent, OverriddenBy: &Change{Name: "knack", File: "./.mcp.json", Scope: Project, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}}},
		"under another name":        {"cursor", map[string]string{"~/.cursor/mcp.json": another}, Choice{}, here, Change{Name: "skills", File: "~/.cursor/mcp.json", Scope: User, Key: "mcpServers.skills", State: Outdated, Command: []string{"/old/knack.exe", "serve", "--dir=/mine"}, Differences: []Difference{{"command", `"/old/knack.exe"`, `"/opt/knack"`}, {"args", `["serve","--dir=/mine"]`, `["serve","--dir=/mine","--entry","skills"]`}}}},
		"another server":            {"cursor", map[string]string{"~/.cursor/mcp.json": elseCLI}, Choice{}, here, Change{File: "~/.cursor/mcp.json", Scope: User, Key: "mcpServers.knack", State: Foreign, Command: []string{"npx", "-y", "serve"}}},
		"another server, by URL":    {"cursor", map[string]string{"~/.cursor/mcp.json": elseCLI}, Choice{}, remote, Change{File: "~/.cursor/mcp.json", Scope: User, Key: "mcpServers.knack", State: Foreign, Command: []string{"npx", "-y", "serve"}}},
		"behind a URL":              {"claude-code", map[string]string{"~/.claude.json": ownURL}, Choice{}, here, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Connected, URL: "https://skills.example.com/mcp"}},
		"no longer behind a URL": {"claude-code", map[string]string{"~/.claude.json": ownURL}, Choice{}, Server{Command: "/opt/knack", Args: []string{"serve"}, ReplaceURL: true}, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Outdated, URL: "https://skills.example.com/mcp", Differences: []Difference{
			{"type", `"http"`, `"stdio"`}, {"command", "", `"/opt/knack"`}, {"args", "", `["serve"]`}, {"url", `"https://skills.example.com/mcp"`, ""}, {"headers", `{"X":"…"}`, ""},
		}}},
		"to another URL":         {"claude-code", map[string]string{"~/.claude.json": ownURL}, Choice{}, Server{URL: "http://x"}, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Outdated, URL: "https://skills.example.com/mcp", Differences: []Difference{{"url", `"https://skills.example.com/mcp"`, `"http://x"`}}}},
		"two files":              {"opencode", map[string]string{"~/.config/opencode/opencode.json": "{}", "~/.config/opencode/opencode.jsonc": "{}"}, Choice{}, here, Change{File: "~/.config/opencode/opencode.jsonc", Scope: User, Key: "mcp.knack", State: Absent}},
		"the file that is there": {"opencode", map[string]string{"~/.config/opencode/opencode.json": "{}"}, Choice{}, here, Change{File: "~/.config/opencode/opencode.json", Scope: User, Key: "mcp.knack", State: Absent}},
		"none of two files":      {"opencode", nil, Choice{}, here, Change{File: "~/.config/opencode/opencode.jsonc", Scope: User, Key: "mcp.knack", State: Absent}},
		"the project's of four":  {"opencode", nil, Choice{Scope: Project}, here, Change{File: "./opencode.json", Scope: Project, Key: "mcp.knack", State: Absent}},
		"in the other file": {"opencode", map[string]string{"~/.config/opencode/opencode.json": theirs, "~/.config/opencode/opencode.jsonc": "{}"}, Choice{}, here, Change{File: "~/.config/opencode/opencode.json", Scope: User, Key: "mcp.knack", State: Outdated, Off: "enabled", Command: []string{"/old/knack", "serve"}, Differences: []Difference{
			{"command", `["/old/knack","serve"]`, `["/opt/knack","serve"]`},
		}}},
		"nested":            {"cline", map[string]string{"~/.cline/data/settings/cline_mcp_settings.json": `{"mcpServers": {"knack": {"transport": {"type": "stdio", "command": "/old/knack", "args": ["serve", "--dir", "/mine"]}}}}`}, Choice{}, here, Change{File: "~/.cline/data/settings/cline_mcp_settings.json", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
		"flat":              {"cline", map[string]string{"~/.cline/data/settings/cline_mcp_settings.json": ownCLI}, Choice{}, here, Change{File: "~/.cline/data/settings/cline_mcp_settings.json", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
		"a list":            {"continue", map[string]string{"~/.continue/config.yaml": "mcpServers:\n  - command: /old/knack\n    args:\n      - serve\n      - --dir\n      - /mine\n    name: knack\n"}, Choice{}, here, Change{File: "~/.continue/config.yaml", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
		"its own spelling":  {"copilot-cli", map[string]string{"~/.copilot/mcp-config.json": ownCLI}, Choice{}, Server{Command: "/old/knack", Args: []string{"serve"}}, Change{File: "~/.copilot/mcp-config.json", Scope: User, Key: "mcpServers.knack", State: Connected, Command: []string{"/old/knack", "serve", "--dir", "/mine"}}},
		"without its kind":  {"claude-code", map[string]string{"~/.claude.json": strings.Replace(ownCLI, `"type": "stdio", `, "", 1)}, Choice{}, Server{Command: "/old/knack", Args: []string{"serve"}}, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Connected, Command: []string{"/old/knack", "serve", "--dir", "/mine"}}},
		"another transport": {"claude-code", map[string]string{"~/.claude.json": strings.Replace(ownURL, "http", "sse", 1)}, Choice{}, Server{URL: "https://skills.example.com/mcp"}, Change{File: "~/.claude.json", Scope: User, Key: "mcpServers.knack", State: Outdated, URL: "https://skills.example.com/mcp", Differences: []Difference{{"type", `"sse"`, `"http"`}}}},
		"trust":             {"gemini-cli", map[string]string{"~/.gemini/settings.json": ownCLI}, Choice{}, Server{Command: "/old/knack", Trust: true}, Change{File: "~/.gemini/settings.json", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: []Difference{{"trust", "", "true"}}, Trusted: true}},
		"trusted":           {"gemini-cli", map[string]string{"~/.gemini/settings.json": strings.Replace(ownCLI, `"type"`, `"trust": true, "type"`, 1)}, Choice{}, Server{Command: "/old/knack"}, Change{File: "~/.gemini/settings.json", Scope: User, Key: "mcpServers.knack", State: Connected, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Trusted: true}},
		"named":             {"cursor", map[string]string{"./mine.json": ownCLI}, Choice{File: "./mine.json"}, here, Change{File: "./mine.json", Scope: User, Key: "mcpServers.knack", State: Outdated, Command: []string{"/old/knack", "serve", "--dir", "/mine"}, Differences: command}},
	} {
		t.Run(name, func(t *testing.T) {
			p := tree(t, c.files)
			client, _ := Find(c.id)
			if c.choice.File != "" {
				c.choice.File = p.at(c.choice.File)
			}
			got, err := client.Plan(p, c.server, c.choice)
			if err != nil {
				t.Fatal(err)
			}
			written := got.Changed()
			if err := got.Write(); err != nil {
				t.Fatal(err)
			}
			after, _ := client.Plan(p, c.server, c.choice)
			if wrong := after.Changed() || after.State == Absent && written; wrong {
				t.Errorf("the second time it is %s", after.State)
			}
			for name, text := range c.files {
				if now, err := os.ReadFile(p.at(name)); p.at(name) != got.File && (err != nil || string(now) != strings.ReplaceAll(text, "PROJECT", p.Project)) {
					t.Errorf("%s is %s, %v", name, now, err)
				}
			}
			if keeps := c.want.State == Connected || c.want.State == Foreign || c.want.Shared; written == keeps {
				t.Errorf("written: %t", written)
			}
			bare := func(ch Change) Change {
				ch.File, ch.Key = p.name(ch.File), strings.ReplaceAll(ch.Key, p.Project, "PROJECT")
				ch.EntryBefore, ch.EntryAfter, ch.CommandAfter = nil, nil, nil // see TestChosenArguments
				ch.Before, ch.After, ch.Backup, ch.place, ch.existed, ch.mode = nil, nil, "", "", false, 0
				return ch
			}
			if got = bare(got); got.OverriddenBy != nil {
				first := bare(*got.OverriddenBy)
				got.OverriddenBy = &first
			}
			if c.want.Name == "" {
				c.want.Name = Name
			}
			if d := cmp.Diff(c.want, got, cmp.AllowUnexported(Change{})); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestNPM checks that the entry of a knack in an npm package starts npx. The entry of Homebrew's
// knack starts a link that stays.
func TestNPM(t *testing.T) {
	cache := "/home/me/.npm/_npx/0a/node_modules/@knack-dev/knack-linux-x64/bin/knack"
	npm := NewServer("linux", cache, "v1.2.0")
	words := func(s Server) string { return s.Command + " " + strings.Join(s.Args, " ") }
	for _, c := range []struct{ os, program, want string }{
		{"linux", "/usr/bin/knack", "/usr/bin/knack serve"},
		{"linux", cache, "npx -y @knack-dev/knack@1.2.0 serve"},
		{"windows", "C:/n/node_modules/@knack-dev/knack-win32-x64/bin/knack.exe", "cmd /c npx -y @knack-dev/knack@1.2.0 serve"},
		{"linux", "/home/linuxbrew/.linuxbrew/Cellar/knack/1.2.0/bin/knack", "/home/linuxbrew/.linuxbrew/opt/knack/bin/knack serve"},
	} {
		if got := words(NewServer(c.os, c.program, "v1.2.0")); got != c.want {
			t.Errorf("%s: %s, want %s", c.program, got, c.want)
		}
	}
	for _, c := range []struct{ have, server, want string }{
		{`"npx", "args": ["-y", "@knack-dev/knack@1.0.0", "serve", "--dir", "/mine"]`, "npm", "npx -y @knack-dev/knack@1.2.0 serve --dir /mine"},
		{`"npx", "args": ["@knack-dev/knack", "serve"]`, "npm", "npx -y @knack-dev/knack@1.2.0 serve"},
		{`"cmd", "args": ["/c", "npx", "-y", "@knack-dev/knack@1.0.0", "serve", "--dir", "/mine"]`, "", "/opt/knack serve --dir /mine"},
		{`"/old/knack", "args": ["serve", "--dir", "/mine"]`, "npm", "npx -y @knack-dev/knack@1.2.0 serve --dir /mine"},
		{`"npx", "args": ["-y", "@knack-dev/knack-evil@1.0.0", "serve"]`, "npm", ""},
		{`"npx", "args": ["-p", "evil", "@knack-dev/knack", "serve"]`, "npm", ""},
		{`"npx", "args": ["-y", "serve"]`, "npm", ""},
		{`"cmd", "args": ["/c", "serve"]`, "", ""},
	} {
		s := here
		if c.server == "npm" {
			s = npm
		}
		p := tree(t, map[string]string{"~/.cursor/mcp.json": `{"mcpServers": {"knack": {"command": ` + c.have + `}}}`})
		cursor, _ := Find("cursor")
		ch, err := cursor.Plan(p, s, Choice{})
		if got := strings.Join(ch.CommandAfter, " "); err != nil || c.want != "" && got != c.want || (ch.State == Foreign) != (c.want == "") {
			t.Errorf("%s is %s and becomes %s, %v; want %s", c.have, ch.State, got, err, c.want)
		}
	}
	// The project's entry is unchanged if it is the entry that this knack would write.
	claude, _ := Find("claude-code")
	p := tree(t, map[string]string{"./.mcp.json": `{"mcpServers": {"knack": {"type": "stdio", "command": "npx", "args": ["-y", "@knack-dev/knack@1.2.0", "serve"]}}}`})
	if ch, err := claude.Plan(p, npm, Choice{Scope: Project}); err != nil || ch.State != Connected {
		t.Errorf("%s %s, %v", ch.State, ch.Suspicion, err)
	}
}

// TestKeepArgs checks that the user's arguments stay, including roots that an older knack excluded.
func TestKeepArgs(t *testing.T) {
	want := []string{"serve"}
	for _, c := range []struct{ have, want string }{
		{"serve", "serve"},
		{"serve --exclude=a-user --exclude mine", "serve --exclude=a-user --exclude mine"},
		{"serve --tools runner", "serve --tools runner"},
		{"", "serve"},
		{"list", "serve"},
		{"serve --entry team --exclude a-user", "serve --entry mine --exclude a-user"},
		{"serve --dir /mine --entry=mine", "serve --dir /mine --entry=mine"},
		{"serve --entry=team --dir /mine", "serve --entry mine --dir /mine"},
		{"serve --dir /mine --entry company", "serve --dir /mine"}, // it is called knack again
		{"serve --entry=company --dir /mine", "serve --dir /mine"},
		{"serve --dir /mine --entry", "serve --dir /mine --entry"},
	} {
		want := want
		if strings.Contains(c.have, "--entry") && !strings.Contains(c.have, "company") && !strings.HasSuffix(c.have, "--entry") {
			want = append(slices.Clone(want), "--entry", "mine")
		}
		if got := strings.Join(mergeArgs(strings.Fields(c.have), want), " "); got != c.want {
			t.Errorf("%q becomes %q, want %q", c.have, got, c.want)
		}
	}
}

// TestSuspicion checks that a project's entry counts as knack's if it starts an installed knack. An
// entry that may start a program of the project does not.
func TestSuspicion(t *testing.T) {
	for _, c := range []struct {
		entry string
		want  State
	}{
		{`"command": "knack"`, Outdated},
		{`"command": "/usr/local/bin/knack"`, Outdated},
		{`"command": "./knack"`, Foreign},
		{`"command": "bin/knack"`, Foreign},
		{`"command": "..\\knack"`, Foreign},
		{`"command": "PROJECT/knack"`, Foreign},
		{`"command": "PROJECT/../project/bin/knack"`, Foreign},
		{`"command": "PROJECT/../link/knack"`, Foreign},
		{`"command": "PROJECT/../link/../project/knack"`, Foreign},
		{`"command": "${PWD}/knack"`, Foreign},
		{`"command": "/${X:-proc/self/cwd}/knack"`, Foreign},
		{`"command": "/opt/knack"`, Outdated},
		{`"command": "node", "args": ["knack", "serve"]`, Foreign},
		{`"command": "npx", "args": ["-y", "@knack-dev/knack@1.0.0", "serve"]`, Foreign},
		{`"command": "knack", "env": {"PATH": "bin"}`, Foreign},
		{`"command": "knack", "env": {"LD_PRELOAD": "./x.so"}`, Foreign},
		{`"command": "knack", "env": {"KNACK_X": "y"}`, Outdated},
		{`"type": "http", "url": "https://x.example.com", "headersHelper": "./x"`, Foreign},
		{`"type": "http", "url": "https://x.example.com"`, Connected},
	} {
		p := tree(t, map[string]string{"./.mcp.json": `{"mcpServers": {"knack": {` + c.entry + `}}}`, "./knack": "", "~/../link": "->./"})
		if err := os.Chmod(p.at("./knack"), 0o755); err != nil {
			t.Fatal(err)
		}
		claude, _ := Find("claude-code")
		for _, choice := range []Choice{{}, {Scope: Project}} {
			ch, err := claude.Plan(p, here, choice)
			if err != nil {
				t.Fatal(err)
			}
			if ch.OverriddenBy != nil {
				ch = *ch.OverriddenBy
			}
			if ch.Scope != Project || ch.State != c.want {
				t.Errorf("%s is %s, want %s", c.entry, ch.State, c.want)
			}
			if ch.State == Foreign && ch.Changed() {
				t.Errorf("%s is changed", c.entry)
			}
		}
	}
	p := tree(t, map[string]string{"./.mcp.json": `{"mcpServers": {"skills": {"command": "./knack", "args": ["serve"]}}}`})
	claude, _ := Find("claude-code")
	if ch, err := claude.Plan(p, here, Choice{}); err != nil || ch.Name != Name || ch.Scope != User {
		t.Errorf("the project's own program is taken for the user's knack: %+v, %v", ch, err)
	}
}

// TestSharedFile checks that an entry in a file that several clients read has no settings of only
// one of them. Qwen Code, which reads .mcp.json too, gets the entry in its own file.
func TestSharedFile(t *testing.T) {
	for _, id := range []string{"claude-code", "copilot-cli", "qwen-code"} {
		c, _ := Find(id)
		s := Server{Command: "/opt/knack", Args: []string{"serve"}, Trust: c.CanTrust()}
		for _, files := range []map[string]string{nil, {"./.mcp.json": "{}"}, {"./.mcp.json": ownCLI}} {
			p := tree(t, files)
			ch, err := c.Plan(p, s, Choice{Scope: Project})
			if err == nil {
				err = ch.Write()
			}
			if err != nil {
				t.Fatal(err)
			}
			want := "./.mcp.json"
			if id == "qwen-code" {
				want = "./.qwen/settings.json"
			}
			text := string(ch.After)
			if p.name(ch.File) != want {
				t.Errorf("%s writes %s", id, p.name(ch.File))
			}
			if own := strings.Contains(text, "trust") || strings.Contains(text, "tools") || strings.Contains(text, `"local"`); own != (id == "qwen-code") {
				t.Errorf("%s writes %s", id, text)
			}
			for _, other := range []string{"claude-code", "copilot-cli"} {
				o, _ := Find(other)
				if ch, err := o.Plan(p, Server{Command: s.Command, Args: s.Args}, Choice{Scope: Project}); id != "qwen-code" && (err != nil || ch.State != Connected) {
					t.Errorf("what %s wrote is %s for %s, %v", id, ch.State, other, err)
				}
			}
		}
	}
}

// TestSharedThroughLink checks that a client's own file counts as shared if it is a link to another
// client's file, or if that is a link to it.
func TestSharedThroughLink(t *testing.T) {
	c, _ := Find("qwen-code")
	for _, files := range []map[string]string{
		{"./.mcp.json": "{}", "./.qwen/settings.json": "->./.mcp.json"},
		{"./.qwen/settings.json": "{}", "./.mcp.json": "->./.qwen/settings.json"},
	} {
		ch, err := c.Plan(tree(t, files), Server{Command: "/opt/knack", Args: []string{"serve"}, Trust: true}, Choice{Scope: Project})
		if err != nil || strings.Contains(string(ch.After), "trust") {
			t.Errorf("%v: %s, %v", files, ch.After, err)
		}
	}
}

// TestProjectAtHome checks that the project's file counts as the user's own if the project is the
// home folder.
func TestProjectAtHome(t *testing.T) {
	p := tree(t, map[string]string{"~/.gemini/settings.json": ownCLI})
	p.Project = p.Home
	c, _ := Find("gemini-cli")
	if ch := write(t, c, p); ch.Shared || ch.Scope != User || ch.Backup == "" {
		t.Errorf("%+v", ch)
	}
}

// TestMoved checks that a variable that moves a client's folder moves its file too.
func TestMoved(t *testing.T) {
	for _, c := range []struct{ id, variable, want string }{
		{"claude-code", "CLAUDE_CONFIG_DIR", "/x/.claude.json"},
		{"codex", "CODEX_HOME", "/x/config.toml"},
		{"gemini-cli", "GEMINI_CLI_HOME", "/x/.gemini/settings.json"},
		{"copilot-cli", "COPILOT_HOME", "/x/mcp-config.json"},
		{"qwen-code", "QWEN_HOME", "/x/settings.json"},
		{"opencode", "XDG_CONFIG_HOME", "/x/opencode/opencode.jsonc"},
		{"kilo", "XDG_CONFIG_HOME", "/x/kilo/kilo.jsonc"},
		{"amp", "XDG_CONFIG_HOME", "/x/amp/settings.json"},
		{"cline", "CLINE_DIR", "/x/data/settings/cline_mcp_settings.json"},
		{"cline", "CLINE_DATA_DIR", "/x/settings/cline_mcp_settings.json"},
		{"cline", "CLINE_MCP_SETTINGS_PATH", "/x"},
		{"continue", "CONTINUE_GLOBAL_DIR", "/x/config.yaml"},
	} {
		client, _ := Find(c.id)
		p := Env{OS: "linux", Home: "/h", Getenv: func(name string) string {
			if name == c.variable {
				return "/x"
			}
			return ""
		}}
		if got := client.File(p); got != c.want {
			t.Errorf("%s with %s: %s, want %s", c.id, c.variable, got, c.want)
		}
	}
}

// TestClients checks that every client has a file on every system, and a source.
func TestClients(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range Clients() {
		for _, os := range []string{"linux", "darwin", "windows"} {
			file := c.File(Env{OS: os, Home: "/h", Project: "/p", AppData: `C:\A`})
			if file == "" || seen[os+file] || strings.Contains(file, `\`) {
				t.Errorf("%s on %s: %q", c.ID, os, file)
			}
			seen[os+file] = true
		}
		nowhere := Env{OS: "linux"}
		if _, err := c.Plan(nowhere, here, Choice{}); c.File(nowhere) != "" || c.Installed(nowhere) || err == nil {
			t.Errorf("%s is nowhere", c.ID)
		}
		if c.Source == "" || c.folder == nil {
			t.Errorf("%s: no source, or no folder", c.ID)
		}
		for scope := range c.nextSteps {
			if !strings.Contains(strings.Join(scopes(c), " "), string(scope)) {
				t.Errorf("%s has no %s scope", c.ID, scope)
			}
		}
	}
}

func scopes(c Client) (out []string) {
	for _, s := range c.Scopes() {
		out = append(out, string(s))
	}
	return out
}

// TestInstalledByFile checks that a client counts as installed if the user's file contains more
// than knack's entry. No two clients may have the same file of this kind.
func TestInstalledByFile(t *testing.T) {
	c, _ := Find("claude-code")
	for text, here := range map[string]bool{
		`{"numStartups":3,"projects":{}}`:                            true,
		`{"numStartups":3,"mcpServers":{}}`:                          true,
		`{"mcpServers":{"other":{"command":"x"}}}`:                   true,
		`{"numStartups":`:                                            true, // the client's own, even if damaged
		`{"mcpServers": {}}`:                                         false,
		`{"mcpServers": {"knack":{"command":"x","args":["serve"]}}}`: false,
		`{}`: false,
	} {
		for _, folder := range []string{"~/.claude/skills/a/SKILL.md", "~/other"} {
			p := tree(t, map[string]string{"~/.claude.json": text, folder: ""})
			bare := folder != "~/other" && !here
			if got := c.Installed(p); got != here || (c.BareFolder(p) != "") != bare {
				t.Errorf("%s, %s: %t, %q", text, folder, got, c.BareFolder(p))
			}
		}
	}
	p, owner := tree(t, nil), map[string]string{}
	for _, c := range Clients() {
		for _, at := range c.locations {
			file := at.file(p)
			if other := owner[file]; at.scope == User && other != "" && other != c.ID {
				t.Errorf("%s is of %s and of %s", file, other, c.ID)
			}
			owner[file] = c.ID
		}
	}
}

// TestInstalled checks that a client counts as installed if its program is on PATH, or if its
// folder has more than skills.
func TestInstalled(t *testing.T) {
	c, _ := Find("codex")
	for name, want := range map[string]struct {
		files map[string]string
		here  bool
	}{
		"nothing":           {nil, false},
		"its folder":        {map[string]string{"~/.codex/auth.json": "{}"}, true},
		"skills of a tool":  {map[string]string{"~/.codex/skills/a/SKILL.md": ""}, false},
		"a program":         {map[string]string{"~/bin/codex": ""}, true},
		"another program":   {map[string]string{"~/bin/codex2": ""}, false},
		"a project's files": {map[string]string{"./.codex/config.toml": ""}, false},
		"in the project":    {map[string]string{"./bin/codex": ""}, false},
	} {
		p := tree(t, want.files)
		p.Path = strings.Join([]string{"", "bin", filepath.Join(p.Home, "bin")}, string(filepath.ListSeparator))
		t.Chdir(p.Project) // PATH may have relative folders of the project
		for _, dir := range []string{p.Home, p.Project} {
			_ = os.Chmod(filepath.Join(dir, "bin", "codex"), 0o755)
		}
		if got := c.Installed(p); got != want.here {
			t.Errorf("%s: %t", name, got)
		}
		_ = os.Chmod(filepath.Join(p.Home, "bin", "codex"), 0o644)
		if name == "a program" && runtime.GOOS != "windows" && c.Installed(p) {
			t.Error("a file that cannot be run is taken for a program")
		}
	}
}

// TestWrite checks that a file is replaced atomically and with a backup. Nothing is written if
// nothing changes, or if another program changed the file meanwhile.
func TestWrite(t *testing.T) {
	for _, c := range Clients() {
		mine := "{}"
		if c.format != formatJSON {
			mine = "# mine\n"
		}
		p := tree(t, nil)
		if c.Installed(p) {
			t.Errorf("%s is on an empty machine", c.ID)
		}
		if c.createHint != "" {
			if err := os.MkdirAll(filepath.Dir(c.File(p)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(c.File(p), []byte(mine), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		first := write(t, c, p)
		if (first.Backup != "") != (c.createHint != "") {
			t.Errorf("%s: backup %q", c.ID, first.Backup)
		}
		if info, err := os.Stat(first.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", c.ID, info.Mode(), err)
		}
		if again := write(t, c, p); again.Changed() || again.Backup != "" {
			t.Errorf("%s: writes what is there already", c.ID)
		}
		if err := os.WriteFile(first.File, []byte(mine), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(first.File, 0o640); err != nil {
			t.Fatal(err)
		}
		ch, err := c.Plan(p, here, Choice{})
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(first.File, []byte(mine+"\n"), 0o640); err != nil {
			t.Fatal(err)
		}
		if err := ch.Write(); !errors.Is(err, edit.ErrChanged) {
			t.Errorf("%s: writes over another's change: %v", c.ID, err)
		}
		second := write(t, c, p)
		if data, err := os.ReadFile(second.Backup); err != nil || string(data) != mine+"\n" {
			t.Errorf("%s: %s holds %q, %v", c.ID, second.Backup, data, err)
		}
		if info, err := os.Stat(second.File); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v %v", c.ID, info.Mode(), err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(first.File), ".knack-*")); len(left) > 0 {
			t.Errorf("%s: leaves %q", c.ID, left)
		}
	}
}

func write(t *testing.T, c Client, p Env) Change {
	t.Helper()
	ch, err := c.Plan(p, here, Choice{})
	if err == nil {
		err = ch.Write()
	}
	if err != nil {
		t.Fatalf("%s: %v", c.ID, err)
	}
	return ch
}

// TestLinks checks that a link among the user's files is kept, and its target changed. A project
// may be a clone, so links out of it are not followed unless the user named the file.
func TestLinks(t *testing.T) {
	const empty = "{}"
	for name, c := range map[string]struct {
		id     string
		files  map[string]string
		choice Choice
		to     string // the file that is changed
		out    bool   // whether the change is refused
	}{
		"the user's file":          {"cursor", map[string]string{"~/.cursor/mcp.json": "->~/dot/mcp.json", "~/dot/mcp.json": empty}, Choice{}, "~/dot/mcp.json", false},
		"the user's folder":        {"cursor", map[string]string{"~/.cursor": "->~/dot", "~/dot/mcp.json": empty}, Choice{}, "~/dot/mcp.json", false},
		"inside of the project":    {"vscode", map[string]string{"./.vscode": "->./conf", "./conf/mcp.json": empty}, Choice{Scope: Project}, "./conf/mcp.json", false},
		"a folder, out of it":      {"vscode", map[string]string{"./.vscode": "->~/conf", "~/conf/mcp.json": empty}, Choice{Scope: Project}, "~/conf/mcp.json", true},
		"an empty folder, out":     {"vscode", map[string]string{"./.vscode": "->~/conf", "~/conf/x": empty}, Choice{Scope: Project}, "~/conf/mcp.json", true},
		"a file, out of it":        {"claude-code", map[string]string{"./.mcp.json": "->~/conf.json", "~/conf.json": empty}, Choice{Scope: Project}, "~/conf.json", true},
		"to nowhere, out of it":    {"claude-code", map[string]string{"./.mcp.json": "->~/conf.json"}, Choice{Scope: Project}, "~/conf.json", true},
		"two links, out of it":     {"gemini-cli", map[string]string{"./.gemini": "->./a", "./a": "->~/a", "~/a/settings.json": empty}, Choice{Scope: Project}, "~/a/settings.json", true},
		"out of it, but named":     {"vscode", map[string]string{"./.vscode": "->~/conf", "~/conf/mcp.json": empty}, Choice{File: "~/conf/mcp.json"}, "~/conf/mcp.json", false},
		"named by its link":        {"vscode", map[string]string{"./.vscode": "->~/conf", "~/conf/mcp.json": empty}, Choice{File: "./.vscode/mcp.json"}, "~/conf/mcp.json", true},
		"out of it, not asked for": {"vscode", map[string]string{"./.vscode": "->~/conf", "~/conf/mcp.json": empty}, Choice{}, "~/.config/Code/User/mcp.json", false},
	} {
		t.Run(name, func(t *testing.T) {
			p := tree(t, c.files)
			client, _ := Find(c.id)
			if c.choice.File != "" {
				c.choice.File = p.at(c.choice.File)
			}
			before, _ := os.ReadFile(p.at(c.to))
			ch, err := client.Plan(p, here, c.choice)
			if errors.As(err, new(*edit.OutsideError)) != c.out || (err != nil) != c.out {
				t.Fatal(err)
			}
			if err != nil {
				if now, _ := os.ReadFile(p.at(c.to)); string(now) != string(before) {
					t.Errorf("%s is %s", c.to, now)
				}
				return
			}
			if err := ch.Write(); err != nil || ch.File != p.at(c.to) {
				t.Fatalf("%v, in %s", err, ch.File)
			}
			data, err := os.ReadFile(p.at(c.to))
			if err != nil || !has(t, client, data, here) {
				t.Errorf("%v\n%s", err, data)
			}
			for name, text := range c.files {
				if info, err := os.Lstat(p.at(name)); strings.HasPrefix(text, "->") && (err != nil || info.Mode()&fs.ModeSymlink == 0) {
					t.Errorf("the link %s is gone: %v", name, err)
				}
			}
		})
	}
}
