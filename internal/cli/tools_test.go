package cli_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/tool"
)

// session runs knack in a folder with a skill below s, and returns the stdout.
func session(t *testing.T, dir, stdin string, args ...string) []byte {
	t.Helper()
	put(t, filepath.Join(dir, "s", "git", "SKILL.md"), "---\nname: git\ndescription: Commits & <pushes>\n---\n")
	out, errs, code := ranWith(t, dir, stdin, append(args, "--dir", "s")...)
	if code != 0 {
		t.Fatalf("knack %s: exit %d\n%s", strings.Join(args, " "), code, errs)
	}
	return []byte(out)
}

// TestToolsEqualMCP checks that knack tools and knack call print the same results as an MCP client
// of knack serve gets.
func TestToolsEqualMCP(t *testing.T) {
	for _, set := range tool.SetNames() {
		t.Run(set, func(t *testing.T) {
			tools, err := tool.ParseSets(set)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var calls []map[string]any
			requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
				`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
				`{"jsonrpc":"2.0","id":2,"method":"tools/list"}` + "\n"
			for i, tl := range tools {
				args := map[string]string{}
				for _, name := range tl.Required() {
					args[name] = map[string]string{"name": "git", "skill_name": "git", "uri": "skill://git/SKILL.md", "file_path": "nope.md"}[name]
				}
				call := map[string]any{"name": tl.Name, "arguments": args}
				calls = append(calls, call)
				line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": i + 3, "method": "tools/call", "params": call})
				if err != nil {
					t.Fatal(err)
				}
				requests += string(line) + "\n"
			}
			results := map[float64]map[string]any{}
			for line := range bytes.Lines(session(t, dir, requests, "serve", "--tools", set)) {
				var m struct {
					ID     float64
					Result map[string]any
				}
				if err := json.Unmarshal(line, &m); err != nil {
					t.Fatal(err)
				}
				results[m.ID] = m.Result
			}
			var defined []any
			if err := json.Unmarshal(session(t, dir, "", "tools", "--tools", set, "--format", "mcp"), &defined); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(results[2]["tools"], any(defined)); diff != "" {
				t.Errorf("tools/list (-serve +tools):\n%s", diff)
			}
			input, err := json.Marshal(calls)
			if err != nil {
				t.Fatal(err)
			}
			var answers []map[string]any
			out := session(t, dir, string(input), "call", "--tools", set, "--format", "mcp")
			if err := json.Unmarshal(out, &answers); err != nil {
				t.Fatal(err)
			}
			for i, got := range answers {
				want := results[float64(i+3)]
				if want["isError"] == nil {
					want["isError"] = false // the default in MCP
				}
				// Only MCP adds links to the text.
				if content, ok := want["content"].([]any); ok {
					want["content"] = slices.DeleteFunc(content, func(c any) bool { return c.(map[string]any)["type"] == "resource_link" })
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%v (-serve +call):\n%s", calls[i], diff)
				}
			}
		})
	}
}
