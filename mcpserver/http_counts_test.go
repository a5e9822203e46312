package mcpserver_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/mcpserver"
)

// TestNumbersOfTooMuch: what is refused since there is too much at once is counted as
// that, and not as a client that asks too often.
func TestNumbersOfTooMuch(t *testing.T) {
	t.Parallel()
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxSessions: 1}})
	w.dial(legacy)
	for range 3 {
		c := &client{site: w, era: legacy}
		resp := c.post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if read(t, resp); resp.StatusCode != http.StatusTooManyRequests {
			t.Error(resp.Status)
		}
	}
	want := []mcpserver.RefusalCount{{Status: 429, Reason: "busy", Count: 3}}
	if diff := cmp.Diff(want, w.http.Numbers().Refusals); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
