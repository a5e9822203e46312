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

// It is so with the places of calls.
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
	if m := read(t, resp); resp.StatusCode != http.StatusTooManyRequests || !strings.HasPrefix(m.Error.Message, "you have 6 of the 6 open calls,") {
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

// TestShareOfSubscriptions: one client cannot take all subscriptions with several sessions.
func TestShareOfSubscriptions(t *testing.T) {
	t.Parallel()
	h := twoHolders(t)
	files := many(1)
	for i := range 8 {
		files[fmt.Sprintf("s-0000/%d.txt", i)] = "x"
	}
	w := start(t, setting{verifier: h.verifier, files: files})
	w.server.DivideSubscriptions(512) // 8 for all, 2 for a session
	subscribe := func(token string) (taken int) {
		w.token = token
		for range 8 {
			c := w.dial(legacy)
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
}

// spelt escapes the characters of a name whose bits are set in i.
func spelt(name string, i int) (escaped string) {
	for j := range name {
		if i>>j&1 == 1 {
			escaped += fmt.Sprintf("%%%X", name[j])
		} else {
			escaped += name[j : j+1]
		}
	}
	return escaped
}

// TestSpellingsAreOneSubscription: a file is watched once, whatever its URI is called, and
// each session is told in its own spelling.
func TestSpellingsAreOneSubscription(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 3 s; package subscription tests the spellings")
	}
	t.Parallel()
	w := start(t, setting{files: fixtures()})
	w.server.CheckEvery(100 * time.Millisecond)
	const plain, odd = "skill://a-first/crlf.txt", "skill://a-first/%63rlf.txt"
	one, other := w.dial(legacy), w.dial(legacy)
	told, toldOther := follow(t, one, plain), follow(t, other, odd)
	for i := range 16 {
		one.result("resources/subscribe", map[string]any{"uri": "skill://a-first/" + spelt("crlf", i) + ".txt"}, nil)
	}
	if n := w.server.Subscriptions(); n != 1 {
		t.Errorf("%d files are watched, of one", n)
	}
	rewrite(t, w.dir, "a-first/crlf.txt", "changed")
	for uri, from := range map[string]<-chan message{plain: told, odd: toldOther} {
		if m := await(t, from, "notifications/resources/updated"); !strings.Contains(string(m.Params), `"`+uri+`"`) {
			t.Errorf("%s, want %s", m.Params, uri)
		}
		quiet(t, from, "notifications/resources/updated") // once
	}
	one.result("resources/unsubscribe", map[string]any{"uri": odd}, nil)
	rewrite(t, w.dir, "a-first/crlf.txt", "changed again")
	await(t, toldOther, "notifications/resources/updated")
	quiet(t, told, "notifications/resources/updated")
}

// revoking knows its one token so many times.
type revoking struct{ left atomic.Int64 }

func (v *revoking) Verify(context.Context, string) (access.Subject, bool) {
	return access.Subject{Name: "anna"}, v.left.Add(-1) >= 0
}

// TestStreamOfRevokedToken: a stream ends if its token is taken back while it is opened:
// after it was asked for, and before the stream is one of those that a reload ends.
func TestStreamOfRevokedToken(t *testing.T) {
	t.Parallel()
	v := &revoking{}
	v.left.Store(2) // before the body has arrived, and after
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

// TestKeptMessagesAreSmall: what the SDK would keep of a client, for as long as a session or a
// stream is open, has few values and bytes. What a stream notifies of does not count.
func TestKeptMessagesAreSmall(t *testing.T) {
	t.Parallel()
	w := start(t, setting{files: many(1)})
	fill := func(n int) string { return "[" + strings.Repeat("{},", n/2) + "{}]" }
	begin := func(odd string) string {
		return `{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"experimental":{"x":` + odd + `}},"clientInfo":{"name":"t","version":"1"}}}`
	}
	const listens = `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"resourceSubscriptions":%s},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"x":%s}}}`
	listen := func(odd string) string { return fmt.Sprintf(listens, "[]", odd) }
	text := func(n int) string { return `"` + strings.Repeat(",", n) + `"` }
	for what, row := range map[string]struct {
		era, body, no string
	}{
		"initialize": {legacy, begin(fill(100)), ""}, "with text": {legacy, begin(text(15 << 10)), ""},
		"listen": {modern, listen(fill(100)), ""}, "listen with text": {modern, listen(text(7 << 10)), ""},
		"listen for much":            {modern, fmt.Sprintf(listens, `["skill://s-0000/SKILL.md"`+strings.Repeat(`,"skill://s-0000/SKILL.md"`, 1000)+"]", `""`), ""},
		"initialize with values":     {legacy, begin(fill(1000)), "the params of initialize have 1009 JSON values, and at most 128 are taken, because the session would have to keep them"},
		"initialize with more text":  {legacy, begin(text(16 << 10)), " bytes, and at most 16384 are taken, because the session would have to keep them"},
		"listen with values":         {modern, listen(fill(1000)), "the params of subscriptions/listen have 1011 JSON values, and at most 128 are taken, because the stream would have to keep them"},
		"listen with more text":      {modern, listen(text(8 << 10)), " bytes, and at most 8192 are taken, because the stream would have to keep them"},
		"initialize with far more":   {legacy, begin(fill(20_000)), "invalid request: the message has more than 10000 JSON values"},
		"a call with far more":       {modern, strings.Replace(listen(fill(20_000)), "subscriptions/listen", "tools/list", 1), "invalid request: the message has more than 10000 JSON values"},
		"a call with some thousands": {modern, strings.Replace(listen(fill(5000)), "subscriptions/listen", "tools/list", 1), ""},
	} {
		c := &client{site: w, era: row.era}
		r := c.request(http.MethodPost, row.body)
		if row.era == modern {
			r.Header.Set("Mcp-Method", strings.Split(row.body, `"`)[9])
		}
		resp, err := http.DefaultClient.Do(r)
		must(t, err)
		if row.no == "" {
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s: %s %+v", what, resp.Status, read(t, resp).Error)
			}
			resp.Body.Close()
			continue
		}
		if resp.StatusCode == http.StatusOK {
			resp.Body.Close()
			t.Errorf("%s is taken", what)
			continue
		}
		if m := read(t, resp); m.code() != -32600 || !strings.HasSuffix(m.Error.Message, row.no) || string(m.ID) != "7" {
			t.Errorf("%s: %s %s %+v", what, resp.Status, m.ID, m.Error)
		}
	}
}
