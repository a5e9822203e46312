package mcpserver_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/knack-dev/knack/skill"
)

// eventLog has the events of a server under test.
type eventLog struct {
	mu  sync.Mutex
	all []mcpserver.Event
}

// Record keeps the events that the audit log writes.
func (h *eventLog) Record(ev *mcpserver.Event) {
	if ev.Unlogged {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, *ev)
}

// recordedOnly ignores fields that the audit log does not write.
var recordedOnly = cmpopts.IgnoreFields(mcpserver.Event{}, "View", "Route", "Took", "Refusal")

// take returns the events since its last call.
func (h *eventLog) take() []mcpserver.Event {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// TestEventsOfCalls makes the same call three times, and checks that each call has one event, with
// the digest of the loaded file.
func TestEventsOfCalls(t *testing.T) {
	var events eventLog
	w := start(t, setting{events: &events, audit: true})
	eachEra(t, w, func(t *testing.T, c *client) {
		events.take()
		main := fixtures()["a-first/SKILL.md"]
		want := mcpserver.Event{
			Surface: event.MCP, Client: "t", Address: "127.0.0.1", Method: "tools/call", Tool: "skill", Asked: "a-first",
			Loaded: []catalog.Load{{URI: "skill://a-first/SKILL.md", Digest: skill.DigestOf([]byte(main)), Size: len(main)}}, Result: event.OK,
		}
		for id := range 3 {
			told(t, c.post(c.bodyOf(strconv.Itoa(id), "tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`)))
		}
		if diff := cmp.Diff([]mcpserver.Event{want, want, want}, events.take(), recordedOnly); diff != "" {
			t.Error(diff)
		}
	})
}

// TestEventsOfFailures checks that each call, good or bad, has one event with a result, and that
// the event of a failed call has no loaded files.
func TestEventsOfFailures(t *testing.T) {
	var events eventLog
	w := start(t, setting{events: &events, audit: true})
	eachEra(t, w, func(t *testing.T, c *client) {
		for _, r := range requests() {
			events.take()
			told(t, c.post(c.bodyOf("1", r.method, r.params)))
			want := 1
			if r.method == "ping" && c.era == legacy { // later versions have no ping
				want = 0
			}
			all := events.take()
			testwait.Within(testwait.Patience, func() bool { // the answer may be here before its event
				all = append(all, events.take()...)
				return len(all) >= want
			})
			if len(all) != want {
				t.Errorf("%s %s: %d events: %+v", r.method, r.params, len(all), all)
			}
			for _, e := range all {
				if e.Result == "" || e.Result != event.OK && len(e.Loaded) > 0 {
					t.Errorf("%s %s: %+v", r.method, r.params, e)
				}
			}
		}
	})
}

// TestEventsOverStdio checks that each call has one event, also a call that is refused early, and
// one that its client cancels. Only events of answered calls have the loaded files.
func TestEventsOverStdio(t *testing.T) {
	var events eventLog
	s := serve(t, scanned(t, folder(tree(t, fixtures()))), func(o *mcpserver.Options) { o.Events, o.Audit = []mcpserver.Sink{&events}, true })
	p := talk(t, s, legacy)
	events.take()
	const read = `"method":"resources/read","params":{"uri":"skill://a-first/SKILL.md"}`
	for line, method := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":1}}`:  "resources/read",
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":[]}`:         "resources/read",
		`{"jsonrpc":"2.0","id":1,"method":"resources/read"}`:                     "resources/read",
		`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":""}}`: "resources/read",
		`{"jsonrpc":"2.0","id":1.0,"method":"tools/call","params":{"name":"x"}}`: "tools/call",
		`{"jsonrpc":"2.0","id":1,"method":"nope"}`:                               "nope",
		`{"jsonrpc":"2.0","id":1.5,` + read + `}`:                                "",
		`{"jsonrpc":"2.0","id":1,`:                                               "",
	} {
		p.ask(t, line)
		want := []mcpserver.Event{{Surface: event.MCP, Client: "t", Method: method, Result: event.Failed}}
		got := events.take()
		for i := range got {
			got[i].Tool, got[i].Asked = "", ""
		}
		if diff := cmp.Diff(want, got, recordedOnly); diff != "" {
			t.Errorf("%s: %s", line, diff)
		}
	}
	const calls = 200
	var lines []string
	for i := range calls {
		id := []string{"%d", "%d.0", `"\u0061%d"`}[i%3]
		lines = append(lines, fmt.Sprintf(`{"jsonrpc":"2.0","id":`+id+`,`+read+`}`, i), fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`+id+`}}`, i))
	}
	said := p.end(t, lines...)
	given, all := strings.Count(said, `"result"`), events.take()
	testwait.Within(testwait.Patience, func() bool { // the work of a cancelled call may still be running
		all = append(all, events.take()...)
		return len(all) >= calls
	})
	loaded := 0
	for _, e := range all {
		if loaded += len(e.Loaded); (e.Result == event.OK) != (len(e.Loaded) == 1) {
			t.Errorf("%+v", e)
		}
	}
	if n := strings.Count(said, "\n"); n != calls || len(all) != calls || loaded != given {
		t.Errorf("%d answers, %d events, %d files given and %d loaded", n, len(all), given, loaded)
	}
}

// TestLimits checks that each subject has its own limit, at any address. Clients whose token is
// refused share the limit of their address, which does not affect admitted clients.
func TestLimits(t *testing.T) {
	var events eventLog
	anna, annaLine := access.NewToken()
	bert, bertLine := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(annaLine + " anna\n" + bertLine + " bert\n"))
	must(t, err)
	w := start(t, setting{events: &events, audit: true, verifier: tokens, http: mcpserver.HTTPOptions{Limit: limit.Rate{PerSecond: 0.001, Burst: 5}}})
	ask := func(path, token string) *http.Response {
		r, err := http.NewRequest(http.MethodGet, "http://"+w.addr+path, nil)
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		resp := do(t, r)
		resp.Body.Close()
		return resp
	}
	count := func(path, token string, n int) map[int]int {
		codes := map[int]int{}
		for range n {
			resp := ask(path, token)
			codes[resp.StatusCode]++
			after, _ := strconv.Atoi(resp.Header.Get("Retry-After"))
			if (resp.StatusCode == http.StatusTooManyRequests) != (after > 0) || after > 0 && resp.Header.Get("WWW-Authenticate") != "" {
				t.Errorf("%s: %d %v", path, resp.StatusCode, resp.Header)
			}
		}
		return codes
	}
	expect := func(what string, got, want map[int]int) {
		t.Helper()
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", what, diff)
		}
	}
	expect("anna", count("/mcp", anna, 8), map[int]int{400: 5, 429: 3}) // a GET without a session
	began := time.Now()
	refused := count("/mcp", "wrong", 150)
	most := 100 + int(5*time.Since(began).Seconds()+1) // five more each second
	if n := refused[401]; n < 100 || n > most || refused[401]+refused[429] != 150 {
		t.Errorf("wrong tokens: %v", refused)
	}
	expect("bert, whose address is that of all", count("/mcp", bert, 8), map[int]int{400: 5, 429: 3})
	expect("health", count("/healthz", "wrong", 300), map[int]int{200: 300})
	lines := map[event.Result]int{}
	for _, e := range events.take() {
		if e.Subject == "anna" || e.Subject == "" {
			lines[e.Result]++
		}
	}
	// The first hundred refusals have an event each. If the requests took so long that more than a
	// hundred tokens were refused, some of the further refusals have no event.
	if n := lines[event.RefusedToken]; lines[event.Failed] != 5 || n < 100 || n > refused[401] || lines[event.Limited] > 2+6+20 {
		t.Errorf("events: %v, for %v", lines, refused)
	}

	open := start(t, setting{http: mcpserver.HTTPOptions{Limit: limit.Rate{PerSecond: 0.001, Burst: 5}}})
	w = open
	expect("this machine, where no token is needed", count("/mcp", "", 20), map[int]int{400: 20})
}

// TestRefusedHostsWriteLittle checks that a foreign Host is refused each time, and logged at most
// as often as a wrong token.
func TestRefusedHostsWriteLittle(t *testing.T) {
	var events eventLog
	w := start(t, setting{events: &events, audit: true, http: mcpserver.HTTPOptions{Limit: mcpserver.DefaultLimit}})
	const n = 400
	began := time.Now()
	for range n {
		r, err := http.NewRequest(http.MethodGet, "http://"+w.addr+"/", nil)
		must(t, err)
		r.Host = "evil.example"
		resp := do(t, r)
		resp.Body.Close()
		if resp.StatusCode != http.StatusForbidden {
			t.Fatal(resp.Status)
		}
	}
	// Beyond the burst, each refusal that the limit admits has one event, and at most nine of the
	// refusals between two of them have one.
	most := 100 + 10*(1+int(5*time.Since(began).Seconds()+1))
	all := events.take()
	if len(all) < 101 || len(all) > most && most < n {
		t.Errorf("%d events of %d requests, want at most %d", len(all), n, most)
	}
	for _, e := range all {
		if e.Result != event.Refused {
			t.Errorf("%+v", e)
		}
	}
}
