package clientconfig

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/edit"
)

// TestPlanRefuses checks that a file that cannot be read or written is reported and not changed.
func TestPlanRefuses(t *testing.T) {
	claude, _ := Find("claude-code")
	cursor, _ := Find("cursor")
	more, _ := Find("continue")
	for name, c := range map[string]struct {
		client Client
		files  map[string]string
		want   string
	}{
		"malformed":        {claude, map[string]string{"~/.claude.json": "{\n  \"a\": 1,\n}"}, "line 3, column 1: the client reads no comma before a closing bracket"},
		"a comment":        {claude, map[string]string{"~/.claude.json": "{\n  \"a\": 1 // b\n}"}, "line 2, column 10: the client reads no comments here"},
		"cut off":          {cursor, map[string]string{"~/.cursor/mcp.json": "{\"mcpServers\": {"}, "line 1, column 17: the file ends in the middle of a value or a comment"},
		"two keys":         {cursor, map[string]string{"~/.cursor/mcp.json": "{\"a\": 1, \"a\": 2}"}, `line 1, column 10: the key "a" appears twice`},
		"no object":        {cursor, map[string]string{"~/.cursor/mcp.json": "{\"mcpServers\": []}"}, "line 1, column 16: mcpServers is not an object in braces"},
		"a folder":         {cursor, map[string]string{"~/.cursor/mcp.json/x": ""}, "it is not a regular file"},
		"a link nowhere":   {cursor, map[string]string{"~/.cursor/mcp.json": "->~/gone"}, "it is a link that leads nowhere"},
		"a link to itself": {cursor, map[string]string{"~/.cursor/mcp.json": "->~/.cursor/mcp.json"}, "it is a link that leads back to itself"},
		"not yet there":    {more, nil, "it is not there yet"},
		"a list of others": {more, map[string]string{"~/.continue/config.yaml": "mcpServers:\n  a: {}\n"}, "line 2: mcpServers is not a list with a dash and a name for each server, below it"},
	} {
		p := tree(t, c.files)
		if _, err := c.client.Plan(p, here, Choice{}); err == nil || err.Error() != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The plan reports an unreadable file that the client would read first.
	ch, err := claude.Plan(tree(t, map[string]string{"./.mcp.json": "{"}), here, Choice{})
	if err != nil || ch.Scope != User || len(ch.Unreadable) != 1 || !strings.HasSuffix(ch.Unreadable[0].Path, ".mcp.json") || !strings.HasPrefix(ch.Unreadable[0].Err.Error(), "line 1") {
		t.Errorf("%v: %+v", err, ch)
	}
	// A file that is at two locations is reported only once.
	opencode, _ := Find("opencode")
	ch, err = claude.Plan(tree(t, map[string]string{"~/.claude.json": "{", "./.mcp.json": "{"}), here, Choice{Scope: Project})
	if err == nil || len(ch.Unreadable) != 0 {
		t.Errorf("%v: %+v", err, ch.Unreadable)
	}
	if ch, _ = claude.Plan(tree(t, map[string]string{"~/.claude.json": "{"}), here, Choice{}); len(ch.Unreadable) != 0 {
		t.Errorf("%+v", ch.Unreadable)
	}
	// Without a home folder, the project's file is not used instead of the user's.
	for _, c := range []Client{claude, opencode} {
		p := tree(t, nil)
		p.Home = ""
		if _, err := c.Plan(p, here, Choice{}); !errors.Is(err, errNoFolder) {
			t.Errorf("%s: %v", c.ID, err)
		}
	}
	// The folder of a named file must exist.
	p := tree(t, nil)
	missing := new(MissingError)
	if _, err := cursor.Plan(p, here, Choice{File: p.at("./typo/x.json")}); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	// The mode decides, since the user of a test may be able to write a read-only file.
	p = tree(t, map[string]string{"~/.cursor/mcp.json": "{}"})
	if err := os.Chmod(p.at("~/.cursor/mcp.json"), 0o444); err != nil {
		t.Fatal(err)
	}
	ch, err = cursor.Plan(p, here, Choice{})
	if err != nil {
		t.Fatal(err)
	}
	if err := ch.Write(); !errors.Is(err, edit.ErrReadOnly) {
		t.Errorf("a file that is read-only: %v", err)
	}
	if left, _ := filepath.Glob(p.at("~/.cursor/*")); len(left) != 1 {
		t.Errorf("something is left beside it: %q", left)
	}
}

// TestNextSteps checks that the next steps name the entry, and that the list of allowed tools is in
// the file that the client reads.
func TestNextSteps(t *testing.T) {
	qwen, _ := Find("qwen")
	if text := strings.Join(qwen.NextSteps(Project, "my team"), "\n"); !strings.Contains(text, "qwen mcp approve 'my team'.") {
		t.Error(text)
	}
	claude, _ := Find("claude")
	p := tree(t, map[string]string{"~/moved/settings.json": "{}"})
	p.Getenv = func(name string) string {
		return map[string]string{"CLAUDE_CONFIG_DIR": p.at("~/moved")}[name]
	}
	ch, err := claude.Allow(p, "my team", []string{"skill"}, false)
	if err != nil || ch.File != p.at("~/moved/settings.json") || !strings.Contains(string(ch.After), `"mcp__my_team__skill"`) {
		t.Errorf("%+v, %v", ch, err)
	}
}

// TestFindByProgram checks that Find also finds a client by the name of its program.
func TestFindByProgram(t *testing.T) {
	for program, id := range map[string]string{"gemini": "gemini-cli", "Claude": "claude-code", "qwen": "qwen-code", "copilot": "copilot-cli", "cn": "continue", "code": "vscode"} {
		if c, ok := Find(program); !ok || c.ID != id {
			t.Errorf("%s is %s", program, c.ID)
		}
	}
	if c, ok := Find(""); ok {
		t.Errorf("nothing is %s", c.ID)
	}
}
