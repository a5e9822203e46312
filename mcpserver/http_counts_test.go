package mcpserver_test

import (
	"net/http"
	"slices"
	"sync"
	"testing"

	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

// TestRefusalsOfTooMuch checks that a refusal because the server is full is recorded as "busy", and
// not as a client that sends requests too often.
func TestRefusalsOfTooMuch(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []event.Refusal
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxSessions: 1}, events: sinkFunc(func(e *mcpserver.Event) {
		mu.Lock()
		defer mu.Unlock()
		if e.Refusal != "" {
			got = append(got, e.Refusal)
		}
	})})
	w.dial(legacy)
	for range 3 {
		c := &client{site: w, era: legacy}
		resp := c.post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
		if read(t, resp); resp.StatusCode != http.StatusTooManyRequests {
			t.Error(resp.Status)
		}
	}
	want := []event.Refusal{event.TooBusy, event.TooBusy, event.TooBusy}
	testwait.Until(t, func() bool { mu.Lock(); defer mu.Unlock(); return slices.Equal(got, want) }, "three refusals as busy")
}
