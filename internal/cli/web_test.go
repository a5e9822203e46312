//go:build unix

package cli_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestPagesCountUses checks that the uses by a client are on the page and in the metrics.
func TestPagesCountUses(t *testing.T) {
	url := startServer(t, "--dir", skills(t))
	ctx := context.Background()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "walker", Version: "1"}, nil).Connect(ctx, &mcp.StreamableClientTransport{Endpoint: url}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if _, err := session.ListTools(ctx, nil); err != nil {
		t.Fatal(err)
	}
	for name, args := range map[string]map[string]any{
		"skill":              {"name": "one"},
		"read_file_in_skill": {"skill_name": "one", "file_path": "x/y.txt"},
		"find_skills":        {"query": "one"},
	} {
		if res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args}); err != nil || res.IsError {
			t.Fatalf("%s: %v %v", name, res, err)
		}
	}
	// A failed call is not a use.
	if res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: "read_file_in_skill", Arguments: map[string]any{"skill_name": "one", "file_path": "none"}}); err != nil || !res.IsError {
		t.Fatalf("%v %v", res, err)
	}
	if _, err := session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "skill://one/SKILL.md"}); err != nil {
		t.Fatal(err)
	}
	if _, err := session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "one"}); err != nil {
		t.Fatal(err)
	}
	_, metrics := fetch(t, strings.TrimSuffix(url, "/mcp")+"/metrics")
	for _, want := range []string{
		`knack_skill_uses_total{client="walker",use="offered"} 1`, `knack_skill_uses_total{client="walker",use="loaded"} 3`, `knack_skill_uses_total{client="walker",use="read"} 1`,
	} {
		if !strings.Contains(metrics, want+"\n") {
			t.Errorf("no %s in\n%s", want, metrics)
		}
	}
}

// TestLongSearch checks that a search of 100 kB is refused unread, and that a shorter one is
// truncated.
func TestLongSearch(t *testing.T) {
	t.Parallel()
	base := strings.TrimSuffix(startServer(t, "--dir", skills(t)), "/mcp")
	for _, path := range []string{"/?q=", "/api/v1/skills?q="} {
		if code, body := fetch(t, base+path+strings.Repeat("one%20", 17_000)); code != http.StatusRequestHeaderFieldsTooLarge || len(body) > 200 {
			t.Errorf("%s of 100 kB: %d, %d bytes", path, code, len(body))
		}
		if code, body := fetch(t, base+path+strings.Repeat("one%20", 2_500)); code != 200 || len(body) > 30_000 {
			t.Errorf("%s of 15 kB: %d, %d bytes", path, code, len(body))
		}
	}
}
