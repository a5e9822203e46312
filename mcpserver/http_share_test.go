package mcpserver_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/knack-dev/knack/mcpserver"
)

// A client with a quarter of the sessions gets none of the last quarter; its own without
// a finished handshake give way first, and others find room.
func TestShareOfSessions(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	w := start(t, setting{verifier: h.verifier, http: mcpserver.HTTPOptions{MaxSessions: 8}})
	w.token = h.some
	other := w.shake()
	w.token = h.all
	for range 4 {
		w.dial(legacy)
	}
	own := w.shake()
	w.dial(legacy)
	if !own.gone() {
		t.Error("the client's own handshake stays")
	}
	const init = `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	c := &client{site: w, era: legacy}
	resp := c.post(init)
	const want = "you have 5 of the 6 sessions that there are, and the rest is for others: end one that is not needed (DELETE with its Mcp-Session-Id), or try again later"
	if m := read(t, resp); resp.StatusCode != http.StatusTooManyRequests || m.code() != -32000 || m.Error.Message != want || string(m.ID) != "7" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v %s %+v", resp.Status, resp.Header, m.ID, m.Error)
	}
	w.token = h.some
	if !other.lives() {
		t.Error("another's handshake gave way")
	}
	w.dial(legacy)
	w.dial(legacy)
}

// It is so with streams.
func TestShareOfStreams(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	w := start(t, setting{verifier: h.verifier, http: mcpserver.HTTPOptions{MaxStreams: 8}})
	listen := func(token string) *http.Response {
		w.token = token
		c := w.dial(modern)
		resp := c.post(c.body("subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}))
		t.Cleanup(func() { resp.Body.Close() })
		return resp
	}
	refused := func(resp *http.Response) message {
		t.Helper()
		if resp.StatusCode != http.StatusTooManyRequests {
			t.Fatal(resp.Status) // the end of a stream that was opened would never be read
		}
		return read(t, resp)
	}
	for i := range 6 {
		if resp := listen(h.all); resp.StatusCode != http.StatusOK {
			t.Fatal(i, resp.Status)
		}
	}
	resp := listen(h.all)
	const want = "you have 6 of the 6 streams that there are, and the rest is for others; end one, or try again later"
	if m := refused(resp); m.code() != -32000 || m.Error.Message != want {
		t.Errorf("%s %+v", resp.Status, m.Error)
	}
	for i := range 2 {
		if resp := listen(h.some); resp.StatusCode != http.StatusOK {
			t.Error(i, resp.Status)
		}
	}
	if m := refused(listen(h.some)); m.code() != -32000 || !strings.HasPrefix(m.Error.Message, "you have 2 of the 8 streams") {
		t.Errorf("%+v", m.Error)
	}
}
