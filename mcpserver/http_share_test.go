package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

// TestShareOfSessions checks that a client that has a quarter of the sessions gets no place of the
// last quarter. Its own sessions without a finished handshake are ended first, and other clients
// find room.
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
	init := initialize("7", legacy)
	c := &client{site: w, era: legacy}
	resp := c.post(init)
	const want = "you have 5 of the 6 open sessions, and the remaining places are for other clients: end one that is not needed (DELETE with its Mcp-Session-Id), or try again later"
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

// TestShareOfStreams checks that one client cannot take the last quarter of the streams.
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
	const want = "you have 6 of the 6 open streams, and the remaining places are for other clients; end one, or try again later"
	if m := refused(resp); m.code() != -32000 || m.Error.Message != want {
		t.Errorf("%s %+v", resp.Status, m.Error)
	}
	for i := range 2 {
		if resp := listen(h.some); resp.StatusCode != http.StatusOK {
			t.Error(i, resp.Status)
		}
	}
	if m := refused(listen(h.some)); m.code() != -32000 || !strings.HasPrefix(m.Error.Message, "you have 2 of the 8 open streams,") {
		t.Errorf("%+v", m.Error)
	}
}

// TestShareOfCalls checks that one client cannot take the last quarter of the places for calls.
func TestShareOfCalls(t *testing.T) {
	t.Parallel()
	h, gate := twoHolders(t), newGate()
	w := start(t, setting{verifier: h.verifier, gate: gate, http: mcpserver.HTTPOptions{MaxCalls: 8}})
	var wg sync.WaitGroup
	call := func(token string) {
		c := &client{site: w, era: modern}
		r := c.request("POST", c.body("resources/read", slowFile()))
		r.Header.Set("Authorization", "Bearer "+token)
		wg.Go(func() {
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Error(err)
				return
			}
			if resp.Body.Close(); resp.StatusCode != http.StatusOK {
				t.Error(resp.Status)
			}
		})
		<-gate.begun
	}
	for range 6 {
		call(h.all)
	}
	w.token = h.all
	c := &client{site: w, era: modern}
	resp := c.post(c.body("tools/list", nil))
	if m := read(t, resp); resp.StatusCode != http.StatusTooManyRequests || m.code() != -32000 || resp.Header.Get("Retry-After") == "" || !strings.HasPrefix(m.Error.Message, "you have 6 of the 6 open calls,") {
		t.Errorf("a seventh call: %s %+v", resp.Status, m.Error)
	}
	for range 2 {
		call(h.some)
	}
	w.token = h.some
	if resp := c.post(c.body("tools/list", nil)); resp.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a ninth call: %s", resp.Status)
	} else {
		resp.Body.Close()
	}
	close(gate.open)
	wg.Wait()
}

// TestShareOfSubscriptions checks that one client cannot take all subscriptions by using several
// sessions. The end of a session frees its subscriptions.
func TestShareOfSubscriptions(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	files := many(1)
	for i := range 8 {
		files[fmt.Sprintf("s-0000/%d.txt", i)] = "x"
	}
	w := start(t, setting{verifier: h.verifier, files: files})
	w.server.DivideSubscriptions(512) // 8 for all, 2 for a session
	type holder struct {
		*client
		token string
	}
	var open []holder
	subscribe := func(token string) (taken int) {
		w.token = token
		for range 8 {
			c := w.dial(legacy)
			open = append(open, holder{c, token})
			for i := range 2 {
				if m := c.call("resources/subscribe", map[string]any{"uri": fmt.Sprintf("skill://s-0000/%d.txt", i)}); m.code() == 0 {
					taken++
				}
			}
		}
		return taken
	}
	if n := subscribe(h.all); n != 6 {
		t.Errorf("one client has %d of 8 subscriptions", n)
	}
	if n := subscribe(h.some); n != 2 {
		t.Errorf("another one has %d", n)
	}
	if n := w.server.Subscriptions(); n != 2 {
		t.Errorf("%d files are watched, of 2", n)
	}
	for _, c := range open {
		w.token = c.token
		resp, err := http.DefaultClient.Do(c.request("DELETE", ""))
		if err != nil || resp.StatusCode >= 300 {
			t.Fatal(resp, err)
		}
		resp.Body.Close()
	}
	testwait.Until(t, func() bool { return w.server.Subscriptions() == 0 }, "subscriptions are left of sessions that have ended")
}

// revoking is a verifier that accepts a token a number of times.
type revoking struct{ left atomic.Int64 }

func (v *revoking) Verify(context.Context, string) (access.Subject, bool) {
	return access.Subject{Name: "anna"}, v.left.Add(-1) >= 0
}

// TestStreamOfRevokedToken checks that a stream ends if its token is revoked while the stream is
// being opened, after the check of the token and before the stream is registered.
func TestStreamOfRevokedToken(t *testing.T) {
	t.Parallel()
	v := &revoking{}
	v.left.Store(2) // the token is checked before the body has arrived, and after
	w := start(t, setting{verifier: v})
	w.token = "some"
	c := &client{site: w, era: modern}
	resp := c.post(c.body("subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}))
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatal(resp.Status)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, resp.Body)
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the stream goes on")
	}
}

// TestStreamsKeepLittle checks that a stream does not keep the message that opened it in memory,
// and that a session keeps only a short name of its client.
func TestStreamsKeepLittle(t *testing.T) {
	t.Parallel()
	room := limit.NewBudget(64<<20, 0)
	var observed eventLog
	w := start(t, setting{files: many(1), room: room, events: &observed, audit: true})
	long := strings.Repeat("x", 1<<20)
	c := &client{site: w, era: modern}
	resp := c.post(c.body("subscriptions/listen", map[string]any{"notifications": map[string]any{"resourceSubscriptions": []string{"skill://s-0000/SKILL.md"}}, "x": long}))
	defer resp.Body.Close()
	if m := <-events(resp); m.Method != "notifications/subscriptions/acknowledged" {
		t.Errorf("%s %+v", resp.Status, m)
	}
	if used := room.Held(); used != 0 {
		t.Errorf("a stream holds %d bytes", used)
	}
	c = &client{site: w, era: legacy}
	resp = c.post(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"` + long + `","version":"1"}}}`)
	c.session = resp.Header.Get("Mcp-Session-Id")
	read(t, resp)
	observed.take()
	c.result("tools/list", nil, nil)
	for _, e := range observed.take() {
		if len(e.Client) > 200 {
			t.Errorf("a session keeps a name of %d bytes", len(e.Client))
		}
	}
}

// TestManyValuesAreRefused checks that a message with too many JSON values is refused.
func TestManyValuesAreRefused(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: many(1)})
	for n, status := range map[int]int{5000: http.StatusOK, 20_000: http.StatusBadRequest} {
		for _, era := range eras {
			c := w.dial(era)
			resp := c.post(c.body("tools/list", map[string]any{"x": make([]any, n)}))
			if resp.StatusCode != status {
				t.Errorf("%s, %d values: %s", era, n, resp.Status)
			}
			resp.Body.Close()
		}
	}
}
