package profile

import (
	"slices"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/agents"
)

// TestClients checks that a client is found by its name in any case and by its version. An unknown,
// absurd or missing name gets the bounds for unknown clients.
func TestClients(t *testing.T) {
	unknown := Profile{Instructions: unknownInstructions, Result: unknownResult, ResultUnit: Bytes}
	for _, row := range []struct {
		name, version string
		title, tool   string
		instructions  int
		result        int
	}{
		{"claude-code", "2.1.330", "Claude Code", "`skill`", 4096, 500_000},
		{"Claude-Code", "2.1.331-beta.1", "Claude Code", "`skill`", 4096, 500_000},
		{"claude-code", "3", "Claude Code", "`skill`", 4096, 500_000},
		{"claude-code", "2.1.329", "Claude Code", "`skill`", 2048, 500_000},
		{"claude-code", "2.1.197", "Claude Code", "`skill`", 2048, 500_000},
		{"claude-code", "2.1.97", "Claude Code", "`skill`", 2048, 49_800},
		{"claude-code", "", "Claude Code", "`skill`", 2048, 49_800},
		{"claude-code", "latest", "Claude Code", "`skill`", 2048, 49_800},
		{"claude-code", strings.Repeat("9", 1000) + ".1", "Claude Code", "`skill`", 4096, 500_000},
		{"codex-mcp-client", "0.169.0", "Codex", "`skill`", 11_200, 11_800},
		{"gemini-cli-mcp-client", "0.0.1", "Gemini CLI", "`skill`", 11_200, 39_800},
		{"opencode", "1.18.33", "OpenCode", "`skill`", 11_200, 51_200},
		{"qwen-cli-mcp-client-knack", "0.0.1", "Qwen Code", "`mcp__knack__skill`", 11_200, 27_800},
		{"qwen-cli-mcp-client-My_skills", "0.0.1", "Qwen Code", "`mcp__My_skills__skill`", 11_200, 27_800},
		{"qwen-cli-mcp-client-", "0.0.1", "Qwen Code", "`skill`", 11_200, 27_800},
		{"qwen-cli-mcp-client-a b\n`c", "0.0.1", "Qwen Code", "`skill`", 11_200, 27_800},
		{"copilot-cli", "1.0.102", "Copilot CLI", "`skill`", 11_200, 20_300},
		{"@cline/core", "0.0.0", "Cline", "`skill`", 2048, 7_700},
		{"continue-cli-client", "1.0.0", "Continue", "`skill`", 2048, 400_000},
		{"kilo", "7.7.7", "Kilo Code", "`skill`", 11_200, 51_200},
		{"kimi-code", "99.0", "Kimi Code", "`skill`", 2048, 50_000}, // from the future
		{"pi", "1.6.0", "Pi", "`skill`", 2048, 19_900},
	} {
		h := Client{Name: row.name, Version: row.version}.Profile()
		if h.Title != row.title || h.ToolName("skill") != row.tool || h.Instructions != row.instructions || h.Result != row.result {
			t.Errorf("%.40q %.40q: %+v", row.name, row.version, h)
		}
	}
	for _, name := range []string{"", "knack", "claude-codex", "claude-code ", "qwen-cli", strings.Repeat("claude-code", 1<<20), "\x00", "\xff\xfe", "ſ"} {
		if h := (Client{Name: name, Version: strings.Repeat(".", 1<<20)}).Profile(); h != unknown {
			t.Errorf("%.40q: %+v", name, h)
		}
	}
	for name, want := range map[string]int{"codex-mcp-client": 39_700, "opencode": 51_200, "": unknownResult} {
		if n := (Client{Name: name, Scripted: true}).Profile().Result; n != want {
			t.Errorf("%d bytes of an answer to a script of %s", n, name)
		}
	}
	if n := (Client{Name: "claude-code", Version: "2.1.330", Limit: 1024}).Profile().Description; n != 1024 {
		t.Errorf("%d characters of a description where 1,024 are known to arrive", n)
	}
	if n := (Client{Name: "claude-code", Version: "2.1.330", Limit: 9999}).Profile().Description; n != 4096 {
		t.Errorf("%d characters of a description where the client shows 4,096", n)
	}
}

// TestClientsInOrder checks that the rows of one client are adjacent, the newest version first and
// the row without a version last.
func TestClientsInOrder(t *testing.T) {
	for i, h := range known {
		if h.name != strings.ToLower(h.name) || len(h.name) > longestName {
			t.Errorf("%s cannot be found", h.name)
		}
		if !slices.ContainsFunc(agents.All(), func(a *agents.Agent) bool { return a.Name == h.Title }) {
			t.Errorf("%s is no agent of the table, whose folders are compared by this name", h.Title)
		}
		last := i+1 == len(known) || known[i+1].name != h.name
		if last != (h.since == "") || !last && !older(known[i+1].since, h.since) {
			t.Errorf("%s since %q: a row after it is never reached, or none is left for old versions", h.name, h.since)
		}
	}
}

// TestToolName checks that a tool's name has the client's prefix only if the server's name in the
// client's settings is known.
func TestToolName(t *testing.T) {
	for _, row := range []struct{ client, entry, tool string }{
		{"claude-code", "company", "`mcp__company__skill`"},
		{"claude-code", "Knack", "`mcp__Knack__skill`"},
		{"claude-code", "my skills", "`skill`"},
		{"claude-code", strings.Repeat("x", 31), "`skill`"},
		{"gemini-cli-mcp-client", "company", "`mcp_company_skill`"},
		{"opencode", "company", "`company_skill`"},
		{"codex-mcp-client", "company", "`skill`"},
		{"continue-cli-client", "company", "`skill`"},
		{"qwen-cli-mcp-client-theirs", "", "`mcp__theirs__skill`"},
		{"qwen-cli-mcp-client-My Skills!", "", "`skill`"},
		{"", "company", "`skill`"},
	} {
		c := Client{Name: row.client, Version: "2.1.330", Entry: row.entry}
		if got := c.Profile().ToolName("skill"); got != row.tool {
			t.Errorf("%s %s: %s, want %s", row.client, row.entry, got, row.tool)
		}
	}
}
