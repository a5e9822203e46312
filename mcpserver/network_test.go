package mcpserver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/mcpserver"
)

// TestShareOfNetwork checks that all addresses of one IPv6 /64, which one customer has, count as
// one client for the share of sessions. Addresses of another network count as another client.
func TestShareOfNetwork(t *testing.T) {
	t.Parallel()
	c := catalog.New(nil, catalog.Options{})
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	h, err := mcpserver.NewHTTP(mcpserver.New(mcpserver.Options{Catalog: c}), mcpserver.HTTPOptions{MaxSessions: 8})
	if err != nil {
		t.Fatal(err)
	}
	begin := func(address string) int {
		post := func(session, body string) *httptest.ResponseRecorder {
			r := httptest.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
			r.RemoteAddr = "[" + address + "]:1"
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			if session != "" {
				r.Header.Set("Mcp-Session-Id", session)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			return w
		}
		w := post("", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if w.Code == http.StatusOK {
			post(w.Header().Get("Mcp-Session-Id"), `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		return w.Code
	}
	for i := range 6 {
		if code := begin(fmt.Sprintf("2001:db8:0:1::%x", i+1)); code != http.StatusOK {
			t.Fatalf("session %d: %d", i, code)
		}
	}
	if code := begin("2001:db8:0:1:ffff::1"); code != http.StatusTooManyRequests {
		t.Errorf("a seventh of one network: %d", code)
	}
	if code := begin("2001:db8:0:2::1"); code != http.StatusOK {
		t.Errorf("the first of another network: %d", code)
	}
}
