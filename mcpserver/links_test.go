package mcpserver_test

import (
	"strings"
	"testing"
)

// Links beside an answer depend on the version that was agreed on: one that is not
// served is answered with one that is, which has them.
func TestLinksByAgreedVersion(t *testing.T) {
	w := start(t, setting{})
	for proposed, want := range map[string]struct {
		agreed string
		links  bool
	}{
		"2024-11-05": {"2024-11-05", false}, "2025-03-26": {"2025-03-26", false}, "2025-06-18": {"2025-06-18", true},
		"2025-11-25": {"2025-11-25", true}, "1999-01-01": {"2025-11-25", true}, "9999-01-01": {"2025-11-25", true},
	} {
		c := &client{site: w, era: want.agreed}
		resp := c.post(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"` + proposed + `","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`)
		c.session = resp.Header.Get("Mcp-Session-Id")
		if got := string(read(t, resp).Result); !strings.Contains(got, `"protocolVersion":"`+want.agreed+`"`) {
			t.Errorf("%s: %s", proposed, got)
		}
		c.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`).Body.Close()
		m := c.call("tools/call", map[string]any{"name": "find_skills", "arguments": map[string]any{"query": "types"}})
		if got := strings.Contains(string(m.Result), `"resource_link"`); got != want.links {
			t.Errorf("%s: links %v: %.300s", proposed, got, m.Result)
		}
	}
}
