package clientconfig

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// oldEntry returns a file with an entry that a user changed. The entry has arguments of the user, a
// switch, and secrets.
func oldEntry(t *testing.T, c Client) []byte {
	t.Helper()
	if c.format == formatTOML {
		return []byte(`[mcp_servers.knack]
command = "/old/knack"
args = ["serve", "--dir", "/mine", "--token", "in-an-argument"]
enabled = true
env = { GITHUB_TOKEN = "in-a-variable" }
startup = 7

[mcp_servers.knack.http_headers]
Authorization = "in-a-header"
`)
	}
	s := Server{Command: "/old/knack", Args: []string{"serve", "--dir", "/mine", "--token", "in-an-argument"}}
	path := []string{c.keys[0], Name}
	if c.nested != "" {
		path = append(path, c.nested)
	}
	fields := append(c.local(s), field{"enabled", true}, field{"env", object{{"GITHUB_TOKEN", "in-a-variable"}}},
		field{"startup", 7}, field{"http_headers", object{{"Authorization", "in-a-header"}}})
	data, err := c.merge(nil, path, fields, nil)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestChosenArguments checks for every client that arguments that the user chose replace the
// arguments of an existing entry. Nothing else in the entry may change, and the entry is shown
// without secrets.
func TestChosenArguments(t *testing.T) {
	for _, c := range Clients() {
		t.Run(c.ID, func(t *testing.T) {
			p := tree(t, map[string]string{"~/file": string(oldEntry(t, c))})
			s := Server{Command: "/old/knack", Args: []string{"serve"}, Chosen: []string{"--tools", "runner"}}
			choice := Choice{File: p.at("~/file")}
			ch, err := c.Plan(p, s, choice)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{string(ch.EntryBefore), string(ch.EntryAfter), ch.Differences[0].Old} {
				for _, secret := range []string{"in-an-argument", "in-a-variable", "in-a-header"} {
					if strings.Contains(text, secret) {
						t.Errorf("%s is shown:\n%s", secret, text)
					}
				}
			}
			for _, part := range []string{"/mine", "GITHUB_TOKEN", "knack"} {
				if part == "GITHUB_TOKEN" && c.format == formatTOML {
					part = "env" // an inline table is read as text
				}
				if !bytes.Contains(ch.EntryBefore, []byte(part)) {
					t.Errorf("%s is not shown:\n%s", part, ch.EntryBefore)
				}
			}
			if bytes.Contains(ch.EntryAfter, []byte("/mine")) || !bytes.Contains(ch.EntryAfter, []byte(`"serve", "--tools", "runner"`)) {
				t.Errorf("after the change:\n%s", ch.EntryAfter)
			}
			if err := ch.Write(); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(ch.File)
			if err != nil {
				t.Fatal(err)
			}
			for _, value := range []string{"in-a-variable", "in-a-header"} {
				if !bytes.Contains(data, []byte(value)) {
					t.Errorf("%s is gone:\n%s", value, data)
				}
			}
			again, err := c.Plan(p, s, choice)
			if err != nil || again.Changed() {
				t.Errorf("a second time: %v, %v", again.Differences, err)
			}
			s.Chosen = nil
			if later, err := c.Plan(p, s, choice); err != nil || later.Changed() {
				t.Errorf("without arguments: %v, %v", later.Differences, err)
			}
			s.Chosen = []string{}
			if none, err := c.Plan(p, s, choice); err != nil || !bytes.Contains(none.EntryAfter, []byte(`"serve"`)) {
				t.Errorf("with no arguments (%v):\n%s", err, none.EntryAfter)
			}
		})
	}
}

// TestChosenArgumentsMerge checks which of knack's own arguments stay beside chosen ones.
func TestChosenArgumentsMerge(t *testing.T) {
	want := []string{"serve", "--entry", "team"}
	for _, tt := range []struct{ chosen, want string }{
		{"--tools runner", "serve --tools runner --entry team"},
		{"--dir /mine", "serve --dir /mine --entry team"},
		{"--exclude claude-user", "serve --exclude claude-user --entry team"},
		{"", "serve --entry team"},
	} {
		s := Server{Args: want, Chosen: strings.Fields(tt.chosen)}
		difftest.Same(t, strings.Join(s.arguments([]string{"serve", "--dir", "/theirs"}), " "), tt.want, tt.chosen)
	}
}

// TestChosenArgumentsReplaceURL checks that chosen arguments make an entry that leads to a URL
// start knack, as a command does.
func TestChosenArgumentsReplaceURL(t *testing.T) {
	c, _ := Find("cursor")
	p := tree(t, map[string]string{"~/.cursor/mcp.json": ownURL})
	ch, err := c.Plan(p, Server{Command: "/opt/knack", Args: []string{"serve"}, Chosen: []string{"--dir", "/mine"}}, Choice{})
	if err != nil || ch.State != Outdated {
		t.Fatal(ch.State, err)
	}
	// The header is not knack's: its value is not shown, although it is removed.
	want := `{
  "mcpServers": {
    "knack": {
      "type": "http",
      "url": "https://skills.example.com/mcp",
      "headers": {
        "X": "…"
      }
    }
  }
}
`
	difftest.Same(t, string(ch.EntryBefore), want)
}

// TestShownKeys checks that a key in a file, which may come from a clone, cannot forge a line.
func TestShownKeys(t *testing.T) {
	for _, id := range []string{"codex", "goose", "continue", "cursor"} {
		c, _ := Find(id)
		const key = "a\n+ command: /usr/bin/other"
		got := string(c.shownEntry([]string{"servers", key}, entry{}, map[string]any{"command": "/opt/knack", key: true, "env": map[string]any{key: "x"}}))
		if strings.Contains(got, "\n+") || strings.Count(got, `a\n+ command`) != 3 || strings.Contains(got, `"x"`) {
			t.Errorf("%s:\n%s", id, got)
		}
	}
}

// TestChosenArgumentsOfProject checks that chosen arguments apply only to the chosen entry, and not
// to another one that the client prefers. In a project's file they keep the team's command, and
// every root that the user excluded.
func TestChosenArgumentsOfProject(t *testing.T) {
	c, _ := Find("copilot-cli")
	p := tree(t, map[string]string{"./.mcp.json": `{"mcpServers": {"knack": {"command": "knack", "args": ["serve"]}}}`})
	s := Server{Command: "/opt/knack", Args: []string{"serve"}, Chosen: []string{"--exclude", "copilot-user", "--tools", "runner"}}
	ch, err := c.Plan(p, s, Choice{})
	if err != nil || ch.State != Absent || ch.OverriddenBy == nil || ch.OverriddenBy.State != Connected {
		t.Errorf("%+v, %v", ch, err)
	}
	ch, err = c.Plan(p, s, Choice{Scope: Project})
	if d := cmp.Diff([]string{"knack", "serve", "--exclude", "copilot-user", "--tools", "runner"}, ch.CommandAfter); err != nil || d != "" {
		t.Errorf("%v (-want +got):\n%s", err, d)
	}
}
