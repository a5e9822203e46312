package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/mcpserver"
	codec "github.com/knack-dev/knack/mcpserver/internal/wire"
)

// doors is one server whose calls go through the core if it takes them, and beside it
// the same server whose calls all go through the SDK. The same bytes must be answered with
// the same bytes.
type doors struct {
	server    *mcpserver.Server
	core, sdk *mcpserver.HTTP
	taken     atomic.Int64 // calls that the core took
}

// doorMeta is the _meta of a request of 2026-07-28.
const doorMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func newDoors(t testing.TB, sets string, change ...func(*mcpserver.Options)) *doors {
	t.Helper()
	files := fixtures()
	n := 510 // two pages of resources/list, and of a folder
	if testing.Short() {
		n = 10
	}
	for i := range n {
		files[fmt.Sprintf("many/n-%03d/SKILL.md", i)] = skillText(fmt.Sprintf("n-%03d", i), "One of many.")
	}
	files["a-first/large.txt"] = strings.Repeat("a line of 27 bytes, \"&<>\u2028\n", 10_000)
	d := &doors{server: serve(t, scanned(t, folder(tree(t, files))), append(change, func(o *mcpserver.Options) { o.Tools = tools(t, sets) })...)}
	var err error
	d.core, err = mcpserver.NewHTTPCounting(d.server, mcpserver.HTTPOptions{}, func() { d.taken.Add(1) })
	must(t, err)
	d.sdk, err = mcpserver.NewHTTPWithout(d.server, mcpserver.HTTPOptions{})
	must(t, err)
	return d
}

// post sends a body to one of the doors, and returns what is answered.
func post(t testing.TB, h http.Handler, body string, headers map[string]string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for name, value := range headers {
		if value == "" {
			r.Header.Del(name)
			continue
		}
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// shown is an answer over HTTP as text: status, headers and body.
func shown(t testing.TB, resp *http.Response) string {
	t.Helper()
	var b strings.Builder
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	resp.Header.Del("Content-Length") // the SDK's answers have none
	fmt.Fprintln(&b, resp.Status)
	must(t, resp.Header.Write(&b))
	b.Write(body)
	return b.String()
}

// begin opens a session over HTTP.
func begin(t testing.TB, h http.Handler, version string) (headers map[string]string) {
	t.Helper()
	resp := post(t, h, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"`+version+`","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`, nil)
	headers = map[string]string{"Mcp-Session-Id": resp.Header.Get("Mcp-Session-Id"), "Mcp-Protocol-Version": version}
	if resp = post(t, h, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers); resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.Status)
	}
	return headers
}

// pipes is a session over stdio through one of the doors.
type pipes struct {
	to      *io.PipeWriter
	answers *bufio.Reader
}

// pipe begins a session. An empty version is one without a handshake.
func (d *doors) pipe(t testing.TB, sdk bool, version string) *pipes {
	t.Helper()
	in, client := io.Pipe()
	out, server := io.Pipe()
	transport := &mcpserver.StdioTransport{In: in, Out: server}
	go func() {
		var err error
		if sdk {
			err = d.server.RunWithout(context.WithoutCancel(t.Context()), transport)
		} else {
			err = d.server.RunCounting(context.WithoutCancel(t.Context()), transport, func() { d.taken.Add(1) })
		}
		server.CloseWithError(cmpOr(err, io.EOF))
	}()
	t.Cleanup(func() { client.Close() })
	p := &pipes{client, bufio.NewReader(out)}
	if version != "" {
		p.ask(t, strings.Replace(initializeWith, "$", version, 1))
		p.send(t, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return p
}

func (p *pipes) send(t testing.TB, line string) {
	t.Helper()
	_, err := io.WriteString(p.to, line+"\n")
	must(t, err)
}

// ask sends a call and returns its answer.
func (p *pipes) ask(t testing.TB, line string) string {
	t.Helper()
	p.send(t, line)
	answer, err := p.answers.ReadString('\n')
	must(t, err)
	return answer
}

// end sends the last lines, closes the input and returns what is answered, in order of the
// text.
func (p *pipes) end(t testing.TB, lines ...string) string {
	t.Helper()
	go func() {
		_, _ = io.WriteString(p.to, strings.Join(lines, "\n")+"\n")
		p.to.Close()
	}()
	all, err := io.ReadAll(p.answers)
	must(t, err)
	said := strings.SplitAfter(string(all), "\n")
	slices.Sort(said)
	return strings.Join(said, "")
}

func cmpOr(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// withMeta adds a _meta to params that are an object or missing.
func withMeta(params, meta string) string {
	switch {
	case meta == "":
		return params
	case params == "" || params == "{}":
		return "{" + meta + "}"
	case params[0] == '{':
		return params[:len(params)-1] + "," + meta + "}"
	}
	return params
}

func callText(id, method, params string) string {
	text := `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"`
	if params != "" {
		text += `,"params":` + params
	}
	return text + "}"
}

// modernHeaders are those of a request of 2026-07-28 that say what its body says.
func modernHeaders(body string) map[string]string {
	headers := map[string]string{"Mcp-Protocol-Version": modern}
	var m struct {
		Method any
		Params struct{ Name, URI any }
	}
	_ = json.Unmarshal([]byte(body), &m)
	for _, h := range []struct {
		name string
		v    any
	}{{"Mcp-Method", m.Method}, {"Mcp-Name", m.Params.Name}, {"Mcp-Name", m.Params.URI}} {
		if s, ok := h.v.(string); ok && s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			headers[h.name] = s
		}
	}
	return headers
}

// way is a way in which calls reach both doors.
type way struct {
	name string
	// ask sends a message to the core's door or to the SDK's, and returns the answer.
	ask func(t testing.TB, sdk bool, body string) string
}

// ways are all: both transports, each era, with and without a session. alone makes a
// session over stdio for each message, which need not be a call then. Without a handshake
// there is always one for each: the SDK takes anything once it had a call of 2026-07-28,
// and it does not hear of those that the core takes.
func (d *doors) ways(t testing.TB, alone bool) (all []way) {
	t.Helper()
	for _, version := range []string{modern, "", "2024-11-05", "2025-06-18", legacy} {
		var sessions [2]map[string]string
		if version != "" && version != modern {
			sessions = [2]map[string]string{begin(t, d.core, version), begin(t, d.sdk, version)}
		}
		all = append(all, way{"HTTP " + version, func(t testing.TB, sdk bool, body string) string {
			h, headers := d.core, sessions[0]
			if sdk {
				h, headers = d.sdk, sessions[1]
			}
			if version == modern {
				headers = modernHeaders(body)
			}
			return shown(t, post(t, h, body, headers))
		}})
	}
	for _, version := range []string{"", "2024-11-05", legacy} {
		var sessions [2]*pipes
		alone := alone || version == ""
		if !alone {
			sessions = [2]*pipes{d.pipe(t, false, version), d.pipe(t, true, version)}
		}
		all = append(all, way{"stdio " + version, func(t testing.TB, sdk bool, body string) string {
			switch {
			case strings.ContainsAny(body, "\r\n"):
				return ""
			case alone:
				return d.pipe(t, sdk, version).end(t, body)
			case sdk:
				return sessions[1].ask(t, body)
			}
			return sessions[0].ask(t, body)
		}})
	}
	return all
}

// same sends a message through both doors in every way, and requires the same bytes.
func same(t testing.TB, ways []way, what, body string) {
	t.Helper()
	for _, w := range ways {
		core, sdk := w.ask(t, false, body), w.ask(t, true, body)
		for tries := 0; core != sdk && strings.Contains(core+sdk, "try again") && tries < 10; tries++ { // a look for a name took too long
			core, sdk = w.ask(t, false, body), w.ask(t, true, body)
		}
		if core != sdk {
			t.Errorf("%s, %s: %.300s\n%.3000s", w.name, what, body, cmp.Diff(strings.Split(sdk, "\n"), strings.Split(core, "\n")))
		}
	}
}

// TestDoors: the core and the SDK's door give the same bytes for the same bytes, with
// status and headers, in every era, over both transports, with and without a session.
func TestDoors(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of messages")
	}
	t.Parallel()
	d := newDoors(t, "default")
	ways := d.ways(t, false)
	n := 0
	for name, meta := range doorMetas {
		sent := map[string]int{}
		for _, c := range doorCalls() {
			if name != "" && name != "modern" {
				if strings.Count(c.params, `"`)%4 != 2 || sent[c.method] == 2 { // two of each method are enough
					continue
				}
				sent[c.method]++
			}
			same(t, ways, "_meta "+name, callText("7", c.method, withMeta(c.params, meta)))
			if n++; t.Failed() {
				t.FailNow()
			}
		}
	}
	taken := d.taken.Load()
	t.Logf("%d messages in %d ways, of which the core took %d", n, len(ways), taken)
	if taken < int64(n) {
		t.Error("the core took so few that nothing is compared")
	}
}

// TestDoorTraps sends what is no usual call: both doors answer the same.
func TestDoorTraps(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of messages")
	}
	t.Parallel()
	d := newDoors(t, "default")
	ways := d.ways(t, true)
	for name, body := range doorTraps() {
		same(t, ways, name, body)
	}
}

// TestDoorSequences sends lines in one go, without waiting for answers.
func TestDoorSequences(t *testing.T) {
	t.Parallel()
	d := newDoors(t, "default")
	hello := strings.Replace(initializeWith, "$", legacy, 1)
	const ready = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	list := func(id string) string { return callText(id, "skills/list", `{}`) }
	cancel := func(params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":` + params + `}`
	}
	for name, lines := range map[string][]string{
		"calls behind the handshake":    {hello, ready, list("1"), list(`"1"`), callText("2", "tools/list", ``)},
		"calls behind initialize alone": {hello, list("1"), callText("2", "ping", `{}`)},
		"calls without a handshake":     {list("1"), callText("2", "ping", `{}`), callText("3", "prompts/list", `{`+doorMeta+`}`)},
		"a handshake behind a call":     {callText("1", "tools/list", `{`+doorMeta+`}`), hello, ready, list("2")},
		// The SDK takes 99.5 for 99, so 1.5 could cancel the list there.
		"cancelling what never was":      {hello, ready, cancel(`{"requestId":99}`), cancel(`{"requestId":"x"}`), cancel(`{"requestId":99.5}`), cancel(`{}`), cancel(`null`), list("1")},
		"cancelling what was answered":   {hello, ready, cancel(`{"requestId":"hello"}`), list("1")},
		"cancelling without a handshake": {cancel(`{"requestId":1}`), callText("1", "ping", `{`+doorMeta+`}`)},
		"answers to nothing":             {hello, ready, `{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"m"}}`, list("1")},
	} {
		core, sdk := d.pipe(t, false, "").end(t, lines...), d.pipe(t, true, "").end(t, lines...)
		switch why, better := betterSequences[name]; {
		case better && core == sdk:
			t.Errorf("%s: no better than the SDK any more: %s", name, why)
		case !better && core != sdk:
			t.Errorf("%s:\n%s", name, cmp.Diff(strings.Split(sdk, "\n"), strings.Split(core, "\n")))
		}
	}
}

// betterSequences are those that the core answers otherwise, with the reason. No
// single message is among them.
var betterSequences = map[string]string{
	"a handshake behind a call": "a call of 2026-07-28 does not decide for its era: the SDK says that the session is initialized already",
}

// TestDoorsObserve: audit, usage, counts and access see each call alike through either door.
func TestDoorsObserve(t *testing.T) {
	t.Parallel()
	hidden, err := access.ParsePattern("skill://b-crlf/**")
	must(t, err)
	var uses []mcpserver.Use // answers are awaited one by one
	d := newDoors(t, "default", func(o *mcpserver.Options) {
		o.Audit, o.Observe = true, func(u mcpserver.Use) { uses = append(uses, u) }
		o.Access = access.NewGate(access.State{Policy: access.NewPolicy(true, []access.Rule{{Deny: []access.Pattern{hidden}}})})
	})
	counted := map[string]uint64{}
	seen := func(ask func(), method string) (calls map[string]uint64) {
		for tries := 0; tries == 0 || tries < 10 && len(uses) > 0 && uses[0].Event.Result == "busy"; tries++ { // a look for a name took too long
			uses, calls = nil, map[string]uint64{}
			ask()
			for _, c := range d.core.Numbers().Calls {
				if key := c.Method + " " + c.Outcome; c.Method == method {
					calls[key] = c.Count - counted[key]
					counted[key] = c.Count
				}
			}
		}
		return calls
	}
	n := 0
	for _, w := range d.ways(t, false) {
		if w.name == "HTTP " || w.name == "stdio " { // there is no session to call in
			continue
		}
		for _, r := range requests() {
			if methods := []string{"ping", "no/such"}; slices.Contains(methods, r.method) {
				continue
			}
			body := callText("7", r.method, r.params)
			if w.name == "HTTP "+modern {
				body = callText("7", r.method, withMeta(r.params, doorMeta))
			}
			var said string
			seen(func() {}, r.method)
			before := d.taken.Load()
			core, used := seen(func() { said = w.ask(t, false, body) }, r.method), uses
			sdk := seen(func() { w.ask(t, true, body) }, r.method)
			if diff := cmp.Diff([]any{uses, sdk}, []any{used, core}, cmpopts.IgnoreFields(mcpserver.Use{}, "View")); diff != "" || d.taken.Load() > before && len(used) != 1 {
				t.Errorf("%s: %s: %d uses\n%s", w.name, body, len(uses), diff)
			}
			if strings.Contains(said, "CRLF.") {
				t.Errorf("%s: %s shows what is hidden", w.name, body)
			}
			n++
		}
	}
	if taken := d.taken.Load(); taken < int64(n)/2 {
		t.Errorf("the core took %d of %d", taken, n)
	}
}

// FuzzDoors sends whatever the core takes through both doors. Its seeds are the messages of
// TestDoors and TestDoorTraps, so they are sent only to begin fuzzing with.
func FuzzDoors(f *testing.F) {
	if flag.Lookup("test.fuzz").Value.String() == "" {
		f.Skip("TestDoors sends the seeds")
	}
	for _, c := range doorCalls() {
		f.Add(callText(`"a"`, c.method, c.params))
		f.Add(callText("7", c.method, withMeta(c.params, doorMeta)))
	}
	for _, body := range doorTraps() {
		if len(body) < 4<<10 {
			f.Add(body)
		}
	}
	d := newDoors(f, "default")
	ways := d.ways(f, false)
	f.Fuzz(func(t *testing.T, body string) {
		if call, ok := codec.ParseCall([]byte(body)); ok {
			if _, ok := codec.ParseParams(call.Method, call.Params); ok {
				same(t, ways, "fuzzed", body)
			}
		}
	})
}
