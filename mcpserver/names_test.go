package mcpserver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestNamesHideNothing checks that no name in a list has an invisible character, and that a
// name from the list of prompts is a prompt.
func TestNamesHideNothing(t *testing.T) {
	for _, odd := range []string{"\u00ad", "\u200b", "\u202e", "\u2800", "\u3164", "\U000e0041"} {
		root := tree(t, map[string]string{
			"leaf/SKILL.md": skillMD(`"le`+odd+`af"`, "Turns over.", ""), "leaf/a" + odd + ".txt": "x", "leaf/d" + odd + "/b.txt": "x",
		})
		for _, era := range eras {
			client := connect(t, serve(t, scanned(t, folder(root))), era, nil)
			var names []string
			prompts, err := client.ListPrompts(t.Context(), nil)
			must(t, err)
			for _, p := range prompts.Prompts {
				names = append(names, p.Name)
				if _, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: p.Name}); err != nil {
					t.Errorf("%+q: prompts/get: %v", odd, err)
				}
			}
			resources, err := client.ListResources(t.Context(), nil)
			must(t, err)
			for _, r := range resources.Resources {
				names = append(names, r.Name)
			}
			values, err := client.Complete(t.Context(), &mcp.CompleteParams{
				Ref: &mcp.CompleteReference{Type: "ref/prompt", Name: "leaf"}, Argument: mcp.CompleteParamsArgument{Name: "arguments", Value: "l"}})
			must(t, err)
			if got := fmt.Sprint(append(names, values.Completion.Values...)); got != "[leaf leaf leaf]" {
				t.Errorf("%+q: %+q", odd, got)
			}
		}
		got := talk(t, serve(t, scanned(t, folder(root))), "").ask(t, `{"jsonrpc":"2.0","id":7,"method":"resources/directory/read","params":{"uri":"skill://leaf",`+doorMeta+`}}`)
		if strings.Contains(got, odd) || !strings.Contains(got, `"name":"a.txt"`) || !strings.Contains(got, `"name":"d"`) || !strings.Contains(got, `"name":"leaf"`) {
			t.Errorf("%+q: %s", odd, got)
		}
	}
}
