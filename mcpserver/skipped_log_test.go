//lint:file-ignore SA1019 deprecated by the specification, spoken by the clients in use

package mcpserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestLogging checks that a session that sets a level is notified of skipped skills, immediately
// and later. A session that sets no level, or a higher one, is not.
func TestLogging(t *testing.T) {
	root := tree(t, map[string]string{
		"git/SKILL.md":    "---\nname: git\ndescription: Commits.\n---\n",
		"broken/SKILL.md": "---\nname: broken\n---\n",
	})
	c := scanned(t, folder(root))
	s := serve(t, c)
	heard := map[mcp.LoggingLevel]chan *mcp.LoggingMessageParams{}
	for _, level := range []mcp.LoggingLevel{"", "info", "warning", "error"} {
		ch := make(chan *mcp.LoggingMessageParams, 10)
		heard[level] = ch
		client := connect(t, s, legacy, &mcp.ClientOptions{LoggingMessageHandler: func(_ context.Context, r *mcp.LoggingMessageRequest) { ch <- r.Params }})
		if client.InitializeResult().Capabilities.Logging == nil {
			t.Error("logging is not declared")
		}
		if level != "" {
			must(t, client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: level}))
		}
	}
	expect := func(level mcp.LoggingLevel, what string) {
		t.Helper()
		select {
		case got := <-heard[level]:
			text, _ := got.Data.(string)
			if got.Level != "warning" || got.Logger != "knack" || !strings.HasPrefix(text, "skill skipped: ") || !strings.Contains(text, what) {
				t.Errorf("%s: %+v", level, got)
			}
		case <-time.After(30 * time.Second):
			t.Errorf("%s: nothing was said of %s", level, what)
		}
	}
	expect("info", "broken/SKILL.md:2:1: description is missing")
	expect("warning", "broken/SKILL.md")
	put(t, root, map[string]string{"late/SKILL.md": "---\ndescription: No name.\n---\n"})
	must(t, c.Refresh(t.Context()))
	expect("info", "late/SKILL.md")
	expect("warning", "late/SKILL.md")
	for level, ch := range heard {
		if len(ch) > 0 {
			t.Errorf("%q: heard %+v", level, <-ch)
		}
	}
}

func TestLoggingLevels(t *testing.T) {
	s := serve(t, scanned(t, folder(tree(t, nil))))
	client := connect(t, s, legacy, nil)
	for _, level := range []mcp.LoggingLevel{"loud", ""} {
		if err := client.SetLoggingLevel(t.Context(), &mcp.SetLoggingLevelParams{Level: level}); code(err) != jsonrpc.CodeInvalidParams {
			t.Errorf("%q: %v", level, err)
		}
	}
	client = connect(t, s, modern, nil)
	if client.InitializeResult().Capabilities.Logging != nil {
		t.Error("logging is declared at 2026-07-28")
	}
}
