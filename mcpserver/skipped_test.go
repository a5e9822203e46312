package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSkippedSaysWhy checks that a client that requests a skipped skill gets only the reason. A
// client that requests another skill learns nothing about the skipped one.
func TestSkippedSaysWhy(t *testing.T) {
	root := tree(t, map[string]string{
		"lost/SKILL.md":       "---\nname: lost\nlicense: CANARY\n---\nCANARY\n",
		"deep/other/SKILL.md": "---\nname: deep one: CANARY\n---\n",
		"git/SKILL.md":        skillMD("git", "Git.", ""),
	})
	client := connect(t, serve(t, scanned(t, folder(root))), "2025-11-25", nil)
	prompt := func(name string) error {
		_, err := client.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name})
		return err
	}
	read := func(uri string) error {
		_, err := client.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
		return err
	}
	for what, err := range map[string]error{
		"the prompt": prompt("Lost"), "SKILL.md": read("skill://lost/SKILL.md"), "a file": read("skill://lost/x.md"),
	} {
		if err == nil || !strings.Contains(err.Error(), "the skill was skipped: skills/lost/SKILL.md:2:1: description is missing") || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := read("skill://other/SKILL.md"); err == nil || !strings.Contains(err.Error(), "skills/deep/other/SKILL.md:2:15: ") {
		t.Errorf("by its folder's name: %v", err)
	}
	for what, err := range map[string]error{
		"a prompt": prompt("los"), "a skill": read("skill://los/SKILL.md"), "a file of no skill": read("skill://other/x.md"), "a file": read("skill://git/lost"),
	} {
		if err == nil || strings.Contains(err.Error(), "skipped") {
			t.Errorf("%s: %v", what, err)
		}
	}
}
