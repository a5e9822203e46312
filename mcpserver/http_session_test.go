package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

// lives reports whether the session exists. It sends a notification, not a call.
func (c *client) lives() bool {
	c.t.Helper()
	resp := c.post(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
	resp.Body.Close()
	return resp.StatusCode != http.StatusNotFound
}

// gone waits for the end of a session, and reports whether it has ended. It sends no request that
// would keep the session alive.
func (c *client) gone() bool {
	c.t.Helper()
	return testwait.Within(testwait.Patience, func() bool {
		r := c.request("GET", "")
		r.Header.Set("Last-Event-Id", "another_1") // no stream opens
		resp := do(c.t, r)
		resp.Body.Close()
		return resp.StatusCode == http.StatusNotFound
	})
}

// TestHandshakeThatNeverEnds checks that a session ends soon if its client never sends
// notifications/initialized. It stays if the client sends that notification, or keeps sending
// calls.
func TestHandshakeThatNeverEnds(t *testing.T) {
	testwait.Slow(t)
	t.Parallel()
	const timeout = 3 * time.Second
	w := start(t, setting{http: mcpserver.HTTPOptions{InitializeTimeout: timeout}})
	silent, done, calling := w.shake(), w.dial(legacy), w.shake()
	testwait.Within(2*timeout, func() bool { calling.result("ping", nil, nil); return false })
	if !silent.gone() {
		t.Error("a session without notifications/initialized stays")
	}
	if !done.lives() {
		t.Error("a session that was initialized is gone")
	}
	if !calling.gone() { // now that it is silent
		t.Error("a session that has stopped calling stays")
	}
	if done.result("ping", nil, nil); !done.lives() {
		t.Error("a session that was initialized is gone")
	}
}

// TestHandshakesGiveWay checks that sessions without notifications/initialized are ended if there
// are too many sessions, the one that has been silent longest first. If all sessions have it, a new
// session is refused, and the refusal is recorded as "busy".
func TestHandshakesGiveWay(t *testing.T) {
	t.Parallel()
	var busy atomic.Int64
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxSessions: 3}, events: sinkFunc(func(e *mcpserver.Event) {
		if e.Refusal == event.TooBusy {
			busy.Add(1)
		}
	})})
	used := w.dial(legacy)
	first, second := w.shake(), w.shake()
	third := w.dial(legacy)
	if !first.gone() || !second.lives() || !used.lives() || !third.lives() {
		t.Errorf("the wrong session gave way")
	}
	w.dial(legacy)
	if !second.gone() {
		t.Errorf("the second stays")
	}
	c := &client{site: w, era: legacy}
	resp := c.post(initialize("7", legacy))
	const want = "there are 3 sessions, and the server allows no more: end one that is not needed (DELETE with its Mcp-Session-Id), or try again later"
	if m := read(t, resp); resp.StatusCode != http.StatusTooManyRequests || m.code() != -32000 || m.Error.Message != want || string(m.ID) != "7" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v %s %+v", resp.Status, resp.Header, m.ID, m.Error)
	}
	testwait.Until(t, func() bool { return busy.Load() == 1 }, "the refusal is not recorded as busy")
	used.result("ping", nil, nil)
}

// TestNoSession checks that a request without a session is refused unless it begins one, and that
// no session is made for it.
func TestNoSession(t *testing.T) {
	t.Parallel()
	w := start(t, setting{})
	c := &client{site: w, era: legacy}
	const want = "there is no session: send initialize first, then its Mcp-Session-Id with every request"
	for body, id := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`: "1",
		`{"jsonrpc":"2.0","id":"x","method":"ping"}`:     `"x"`,
		`{"jsonrpc":"2.0","id":2,"method":"nothing"}`:    "2",
		initialized: "null",
		`{"jsonrpc":"2.0","method":"initialize","params":{}}`:                   "null",
		`{"jsonrpc":"2.0","id":3,"result":{}}`:                                  "null",
		`{"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"a":[]}}`: "4",
	} {
		resp := c.post(body)
		if m := read(t, resp); resp.StatusCode != http.StatusBadRequest || m.code() != -32600 || m.Error.Message != want || string(m.ID) != id || resp.Header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %s, id %s, %+v", body, resp.Status, m.ID, m.Error)
		}
	}
	if n, _ := w.http.Open(); n != 0 {
		t.Errorf("%d sessions are there", n)
	}
}

// subscribing returns a call whose work waits for the gate.
func subscribing(c *client) string { return c.body("resources/subscribe", slowFile()) }

// leaves sends a call and disconnects once its work has begun. While an earlier request still has
// the only place, the call is refused, and leaves sends it again.
func (c *client) leaves(gate *gate, body string) {
	c.t.Helper()
	for {
		ctx, leave := context.WithCancel(c.t.Context())
		r := c.request("POST", body).WithContext(ctx)
		left := make(chan struct{})
		go func() {
			defer close(left)
			if resp, err := http.DefaultClient.Do(r); err == nil {
				defer resp.Body.Close()
				_, _ = io.Copy(io.Discard, resp.Body)
			}
		}()
		select {
		case <-gate.begun:
			leave()
			<-left
			return
		case <-left:
			leave()
		}
	}
}

// TestPlaceEndsWithTheRequest checks that the place of a call is free after its request has ended,
// even if its work still hangs on a disk. The catalogue itself bounds such work.
func TestPlaceEndsWithTheRequest(t *testing.T) {
	for _, era := range eras {
		for method, params := range map[string]map[string]any{"resources/read": slowFile(), "resources/directory/read": {"uri": "skill://slow"}, "resources/subscribe": slowFile()} {
			if method == "resources/subscribe" && era != legacy {
				continue
			}
			t.Run(era+" "+method, func(t *testing.T) {
				t.Parallel()
				gate := newGate()
				w := start(t, setting{http: mcpserver.HTTPOptions{MaxCalls: 1}, gate: gate})
				defer close(gate.open)
				c := w.dial(era)
				c.leaves(gate, c.body(method, params))
				awaitFree(t, c)
			})
		}
	}
}

// TestIDInFlight checks that a call with the id of a running call is refused, as over stdio.
func TestIDInFlight(t *testing.T) {
	t.Parallel()
	gate := newGate()
	var events eventLog
	c := start(t, setting{gate: gate, events: &events, audit: true}).dial(legacy)
	const body = `{"jsonrpc":"2.0","id":"one","method":"resources/read","params":{"uri":"skill://slow/%s"}}`
	first := make(chan message, 1)
	go func() { first <- read(t, c.post(fmt.Sprintf(body, "wait.txt"))) }()
	<-gate.begun
	events.take()
	resp := c.post(fmt.Sprintf(body, "SKILL.md"))
	switch m := read(t, resp); {
	case resp.StatusCode != http.StatusBadRequest || m.code() != jsonrpc.CodeInvalidRequest || string(m.ID) != `"one"`:
		t.Errorf("%d %+v", resp.StatusCode, m)
	case m.Error.Message != "invalid request: the id belongs to a call that is still in flight":
		t.Error(m.Error.Message)
	}
	var refused []mcpserver.Event
	testwait.Within(testwait.Patience, func() bool { // the answer may be here before its event
		refused = append(refused, events.take()...)
		return len(refused) > 0
	})
	if len(refused) != 1 || refused[0].Method != "resources/read" || refused[0].Result != event.Failed {
		t.Errorf("the refused call: %+v", refused)
	}
	close(gate.open)
	if m := <-first; !strings.Contains(string(m.Result), `"text":"done"`) {
		t.Errorf("the first call: %+v", m)
	}
}

// TestPlacesOfClientsThatLeaveAtOnce checks calls whose clients disconnect immediately. At most as
// many of them wait for a disk as the catalogue allows for one skill, and all places become free
// again.
func TestPlacesOfClientsThatLeaveAtOnce(t *testing.T) {
	t.Parallel()
	const readsOfSkill = 16 // of package catalog
	gate := newGate()
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxCalls: 2}, gate: gate})
	c := w.dial(legacy)
	for range 100 {
		r := c.request("POST", subscribing(c))
		conn := w.connect()
		must(t, r.Write(conn))
		conn.Close()
	}
	if testwait.Within(200*time.Millisecond, func() bool { return len(gate.begun) > readsOfSkill }) {
		t.Errorf("%d calls are worked on at once", len(gate.begun))
	}
	awaitFree(t, c)
	close(gate.open)
}
