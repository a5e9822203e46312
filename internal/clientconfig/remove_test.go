package clientconfig

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// TestRemove adds each client's entry to a file that people wrote, and removes it again. It checks
// that the file is then unchanged, and that a new file has no content.
func TestRemove(t *testing.T) {
	written := map[format]string{
		formatJSON: "{\n  \"theme\": \"dark\",\n  \"KEYS\": {\n    \"other\": {\"command\": \"x\"}\n  }\n}\n",
		formatTOML: "# mine\nmodel = \"x\"\n\n[KEYS.other]\ncommand = \"x\" # it\n\n# the last\n[tui]\na = 1\n",
		formatYAML: "# mine\nmodel: x\nKEYS:\n  other:\n    cmd: x # it\n# the last\nz: 1\n",
	}
	for _, c := range Clients() {
		path := append(append([]string{}, c.keys...), Name)
		text := strings.ReplaceAll(written[c.format], "KEYS", c.keys[0])
		if c.list {
			text = strings.Replace(text, "  other:\n    cmd: x", "  - name: other\n    command: x", 1)
		}
		for _, before := range []string{text, ""} {
			for _, s := range []Server{{Command: "/opt/knack", Args: []string{"serve"}}, {URL: "https://skills.example.com/mcp", Token: true, ClientID: "K7"}} {
				with, err := c.Merge([]byte(before), s)
				if err == ErrNoRemote {
					continue
				}
				if err != nil {
					t.Fatalf("%s: %v", c.ID, err)
				}
				out, err := c.removeEntry(with, path)
				if err != nil {
					t.Errorf("%s: %v\n%s", c.ID, err, with)
					continue
				}
				if before == "" {
					if !c.holdsNothing(out) {
						t.Errorf("%s: %s", c.ID, out)
					}
				} else {
					difftest.Same(t, string(out), before, c.ID)
				}
			}
		}
	}
}

// TestRemoveOdd checks that entries in other forms, which people wrote, are removed or refused.
func TestRemoveOdd(t *testing.T) {
	for _, row := range []struct{ client, before, after string }{
		{"codex", "[mcp_servers.knack]\ncommand = \"knack\"\n\n[mcp_servers.knack.env]\nA = \"b\"\n\n[z]\na = 1\n", "\n[z]\na = 1\n"},
		{"codex", "[mcp_servers]\nknack = { command = \"knack\" }\nother = { command = \"x\" }\n", "[mcp_servers]\nother = { command = \"x\" }\n"},
		{"codex", "[a]\r\nb = 1\r\n\r\n[mcp_servers.knack]\r\ncommand = \"knack\"", "[a]\r\nb = 1\r\n"},
		{"cursor", "{\"mcpServers\": {\"knack\": {\"command\": \"knack\"}, \"other\": {}} /* it */}", "{\"mcpServers\": {\"other\": {}} /* it */}"},
		{"cursor", "{\"mcpServers\": {\"knack\": {\"command\": \"knack\"} /* it */}, \"a\": 1}", "{\"mcpServers\": {/* it */}, \"a\": 1}"},
		{"cursor", "{\n  \"a\": 1,\n  \"mcpServers\": {\n    \"knack\": {\"command\": \"knack\"}\n  }\n}\n", "{\n  \"a\": 1\n}\n"},
		{"goose", "extensions:\n  knack:\n    cmd: knack\n    note: |\n      a\n\n      b\n  other:\n    cmd: x\n", ""},
		{"goose", "extensions: {knack: {cmd: knack}}\n", ""},
		{"continue", "mcpServers:\n  - name: knack\n    command: knack\n", ""},
	} {
		c, _ := Find(row.client)
		out, err := c.removeEntry([]byte(row.before), append(append([]string{}, c.keys...), Name))
		if err == nil && row.after == "" && strings.Contains(string(out), Name) || err == nil && row.after != "" && string(out) != row.after || err != nil && row.after != "" {
			t.Errorf("%s: %v\n%q\nwant %q", row.client, err, out, row.after)
		}
	}
}

// TestAllow checks that rules are added to each form of a list and can be removed again.
func TestAllow(t *testing.T) {
	claude, _ := Find("claude")
	for before, want := range map[string]string{
		"":   "{\n  \"permissions\": {\n    \"allow\": [\"mcp__knack__a\", \"mcp__knack__b\"]\n  }\n}\n",
		"{}": "{\n  \"permissions\": {\n    \"allow\": [\"mcp__knack__a\", \"mcp__knack__b\"]\n  }\n}",
		`{"permissions": {"allow": ["mcp__knack"]}}`:                `{"permissions": {"allow": ["mcp__knack"]}}`,
		`{"permissions": {"allow": ["mcp__knack__b"], "deny": []}}`: `{"permissions": {"allow": ["mcp__knack__b", "mcp__knack__a"], "deny": []}}`,
		"{\"permissions\": {\"allow\": [\n  \"x\"\n]}}\n":           "{\"permissions\": {\"allow\": [\n  \"x\",\n  \"mcp__knack__a\",\n  \"mcp__knack__b\"\n]}}\n",
		`{"permissions": {"allow": "all"}}`:                         "",
		`{"permissions": []}`:                                       "",
	} {
		p := tree(t, map[string]string{"~/.claude/settings.json": before})
		ch, err := claude.Allow(p, "knack", []string{"a", "b"}, false)
		if want == "" {
			if err == nil {
				t.Errorf("%s: no error", before)
			}
			continue
		}
		if err != nil || string(ch.After) != want {
			t.Errorf("%s: %s, %v", before, ch.After, err)
			continue
		}
		if err := ch.Write(); err != nil {
			t.Fatal(err)
		}
		if ch, err = claude.Allow(p, "knack", []string{"a", "b"}, false); err != nil || ch.Changed() {
			t.Errorf("%s: twice: %s, %v", before, ch.After, err)
		}
		if ch, err = claude.Allow(p, "knack", []string{"a", "b"}, true); err != nil || strings.Contains(string(ch.After), "__a") {
			t.Errorf("%s: removed: %s, %v", before, ch.After, err)
		}
	}
	if ch, _ := Clients()[1].Allow(Env{}, "knack", nil, false); ch != nil {
		t.Error("a client without a list has one")
	}
}
