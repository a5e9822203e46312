package mcpserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestUnknownNotifications checks that a notification of an unknown kind is accepted and ignored,
// but not in a session that does not exist.
func TestUnknownNotifications(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	eachEra(t, w, func(t *testing.T, c *client) {
		for _, body := range []string{
			`{"jsonrpc":"2.0","method":"notifications/of/tomorrow","params":{"a":[1]}}`, `{"jsonrpc":"2.0","method":"notifications/"}`,
		} {
			resp := c.post(body)
			said, err := io.ReadAll(resp.Body)
			if resp.StatusCode != http.StatusAccepted || len(said) > 0 || err != nil {
				t.Errorf("%s: %s %q %v", body, resp.Status, said, err)
			}
		}
		if resp := c.post(`{"jsonrpc":"2.0","method":"of/tomorrow"}`); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("a call without an id: %s", resp.Status)
		}
		if c.era != legacy {
			return
		}
		forged := *c
		for session, status := range map[string]int{"": http.StatusBadRequest, "forged": http.StatusNotFound} {
			forged.session = session
			if resp := forged.post(`{"jsonrpc":"2.0","method":"notifications/of/tomorrow"}`); resp.StatusCode != status {
				t.Errorf("session %q: %s", session, resp.Status)
			}
		}
	})
}

// TestInitializeAfterDiscover checks that over pipes, a client may discover the server's versions
// and then begin a session of any of them.
func TestInitializeAfterDiscover(t *testing.T) {
	w := start(t, setting{})
	p := talk(t, w.server, "")
	ask := func(line string) message {
		t.Helper()
		m := p.call(t, line)
		if m.Error != nil {
			t.Fatalf("%s: %+v", line, m.Error)
		}
		return m
	}
	c := &client{site: w, era: modern}
	found := ask(c.bodyOf("1", "server/discover", `{}`))
	if !strings.Contains(string(found.Result), `"2025-11-25"`) || !strings.Contains(string(found.Result), `"resultType":"complete"`) {
		t.Errorf("found %s", found.Result)
	}
	ask(c.bodyOf("2", "tools/list", `{}`)) // a call of one era does not commit the client to that era
	begun := ask(initialize("1", legacy))
	if !strings.Contains(string(begun.Result), `"protocolVersion":"2025-11-25"`) {
		t.Errorf("begun %s", begun.Result)
	}
	ask(`{"jsonrpc":"2.0","id":3,"method":"tools/list"}`)
}

// TestRefusedInitializeHasNoSession checks that the answer to a refused initialize has no session
// id, neither of a new session nor of the session that it was sent to.
func TestRefusedInitializeHasNoSession(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	c := w.dial(legacy)
	stranger := &client{site: w, era: legacy}
	for what, row := range map[string]struct {
		c    *client
		body string
	}{
		"again in a session":      {c, initialize("1", legacy)},
		"params of another kind":  {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":5}`},
		"a version of no text":    {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}`},
		"params that are missing": {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`},
		"null for params":         {stranger, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`},
	} {
		resp := row.c.post(row.body)
		if id := resp.Header.Get("Mcp-Session-Id"); id != "" {
			t.Errorf("%s: session %q", what, id)
		}
		if m := read(t, resp); m.Error == nil {
			t.Errorf("%s: %s", what, m.Result)
		}
	}
	if n, _ := w.http.Open(); n != 1 || !c.lives() {
		t.Errorf("%d sessions", n)
	}
}

// TestVersionWithBatches checks that a client that proposes version 2025-03-26 gets the version
// before it. That version is not served, since its servers must accept batches.
func TestVersionWithBatches(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	const batched = "2025-03-26"
	hello := initialize("1", batched)
	negotiated := func(how string, m message) {
		t.Helper()
		var r struct{ ProtocolVersion string }
		if m.Error != nil {
			t.Fatalf("%s: %+v", how, m.Error)
		}
		must(t, json.Unmarshal(m.Result, &r))
		if r.ProtocolVersion != "2024-11-05" {
			t.Errorf("%s: %s", how, r.ProtocolVersion)
		}
	}
	negotiated("pipes", talk(t, w.server, "").call(t, hello))
	c := &client{site: w, era: legacy}
	r := c.request("POST", hello)
	r.Header.Del("Mcp-Protocol-Version")
	resp := do(t, r)
	c.session = resp.Header.Get("Mcp-Session-Id")
	negotiated("HTTP", read(t, resp))
	for header, status := range map[string]int{batched: http.StatusBadRequest, "": http.StatusOK, "2024-11-05": http.StatusOK} {
		r := c.request("POST", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		r.Header["Mcp-Protocol-Version"] = slices.DeleteFunc([]string{header}, func(v string) bool { return v == "" })
		resp := do(t, r)
		if m := read(t, resp); resp.StatusCode != status || m.Error != nil && strings.Contains(m.Error.Message+string(m.Error.Data), `here: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03`) {
			t.Errorf("%q: %s %+v", header, resp.Status, m.Error)
		}
	}
}
