package mcpserver_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver"
)

const listBody = `{"jsonrpc":"2.0","id":1,"method":"skills/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}}}`

// plain sends a modern request that is well formed except for the test's change.
func plain(w *site, method string, change func(*http.Request)) *http.Response {
	w.t.Helper()
	c := &client{site: w, era: modern}
	body := listBody
	if method != http.MethodPost {
		body = ""
	}
	r := c.request(method, body)
	change(r)
	resp := do(w.t, r)
	w.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// TestGuard checks all combinations of hosts, origins, methods and paths.
func TestGuard(t *testing.T) {
	t.Parallel()
	w := start(t, setting{http: mcpserver.HTTPOptions{
		Hosts: []string{"skills.example", "port.example:8443"}, Origins: []string{"https://app.example", "http://dev.example:3000"},
	}})
	_, port, _ := net.SplitHostPort(w.addr)
	hosts := map[string]bool{
		w.addr: true, "localhost": true, "localhost:" + port: true, "LOCALHOST": true, "[::1]:" + port: true, "127.1.2.3": true,
		"skills.example": true, "Skills.Example:99": true, "port.example:8443": true,
		"evil.example": false, "port.example": false, "port.example:1": false, "127.0.0.1.evil.example": false, "localhost.evil.example": false,
		"skills.example.evil": false, "0.0.0.0": false, "169.254.169.254": false, "[::]:80": false,
	}
	origins := map[string]bool{
		"": true, "https://app.example": true, "http://dev.example:3000": true, "HTTPS://APP.example": true, "same": true,
		"https://evil.example": false, "null": false, "https://app.example.evil": false, "http://app.example": false, "https://app.example:444": false,
		"http://dev.example": false, "http://localhost:1": false, "file://": false, "*": false,
	}
	for host, hostOK := range hosts {
		for origin, originOK := range origins {
			for _, method := range []string{"GET", "POST", "DELETE", "OPTIONS", "PUT", "HEAD", "PATCH"} {
				for _, path := range []string{"/mcp", "/healthz", "/readyz", "/"} {
					r, _ := http.NewRequest(method, "http://"+w.addr+path, strings.NewReader(""))
					r.Host = host
					if origin == "same" {
						r.Header.Set("Origin", "http://"+host)
					} else if origin != "" {
						r.Header.Set("Origin", origin)
					}
					resp := do(t, r)
					_, _ = io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					probe := strings.HasSuffix(path, "z") && origin == "" // a probe may use any host
					if ok := (hostOK || probe) && originOK; ok == (resp.StatusCode == http.StatusForbidden) {
						t.Errorf("%s %s Host %q Origin %q: %s", method, path, host, origin, resp.Status)
					}
					if cors := resp.Header.Get("Access-Control-Allow-Origin"); cors != "" && (!hostOK || !originOK || origin == "") {
						t.Errorf("%s Host %q Origin %q: allows %q", method, host, origin, cors)
					}
				}
			}
		}
	}
}

func TestGuardRefusesTwoOrigins(t *testing.T) {
	w := start(t, setting{http: mcpserver.HTTPOptions{Origins: []string{"https://app.example"}}})
	resp := plain(w, "POST", func(r *http.Request) { r.Header["Origin"] = []string{"https://app.example", "https://evil.example"} })
	if resp.StatusCode != http.StatusForbidden {
		t.Error(resp.Status)
	}
}

func TestGuardRefusesNonsenseLists(t *testing.T) {
	w := start(t, setting{})
	for _, o := range []mcpserver.HTTPOptions{
		{Hosts: []string{""}}, {Hosts: []string{"*"}}, {Hosts: []string{"http://x"}}, {Hosts: []string{"*.example"}},
		{Origins: []string{"*"}}, {Origins: []string{"x.example"}}, {Origins: []string{"https://x/"}}, {Origins: []string{"null"}},
		{Origins: []string{"https://*.example"}}, {Origins: []string{""}},
	} {
		if _, err := mcpserver.NewHTTP(w.server, o); err == nil {
			t.Errorf("%v %v: taken", o.Hosts, o.Origins)
		}
	}
}

func TestCORS(t *testing.T) {
	w := start(t, setting{http: mcpserver.HTTPOptions{Origins: []string{"https://app.example"}}})
	resp := plain(w, "OPTIONS", func(r *http.Request) {
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Access-Control-Request-Method", "POST")
		r.Header.Set("Access-Control-Request-Headers", "authorization, mcp-param-uri, x-evil, mcp-param-b@d")
	})
	h := resp.Header
	allowed := h.Get("Access-Control-Allow-Headers")
	if resp.StatusCode != 204 || h.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(allowed, "authorization") ||
		!strings.Contains(allowed, "mcp-protocol-version") || !strings.Contains(allowed, "mcp-param-uri") || !strings.Contains(allowed, "if-none-match") || strings.Contains(allowed, "evil") || strings.Contains(allowed, "@") {
		t.Errorf("%s %v", resp.Status, h)
	}
	if h.Get("Access-Control-Allow-Credentials") != "" {
		t.Error("credentials")
	}
	resp = plain(w, "POST", func(r *http.Request) { r.Header.Set("Origin", "https://app.example") })
	if !strings.Contains(resp.Header.Get("Access-Control-Expose-Headers"), "ETag") {
		t.Errorf("the ETag is kept from pages of other origins: %v", resp.Header)
	}
	if resp.StatusCode != 200 || !strings.Contains(resp.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") || !strings.Contains(strings.Join(resp.Header.Values("Vary"), ","), "Origin") {
		t.Errorf("%s %v", resp.Status, resp.Header)
	}
}

func TestTokens(t *testing.T) {
	token, line := access.NewToken()
	other, otherLine := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader("# who\n\n" + line + "  anna's laptop\n" + otherLine + "\n"))
	must(t, err)
	w := start(t, setting{verifier: tokens})
	stranger, _ := access.NewToken()
	for header, want := range map[string]int{
		"Bearer " + token: 200, "bearer " + other: 200, "": 401, "Bearer": 401, "Bearer " + stranger: 401, "Basic " + token: 401, token: 401,
		"Bearer " + line: 401, "Bearer " + token + "x": 401, "Bearer " + token[:len(token)-1]: 401, "Bearer " + token + " x": 401,
	} {
		for _, method := range []string{"POST", "GET", "DELETE"} {
			resp := plain(w, method, func(r *http.Request) {
				if header != "" {
					r.Header.Set("Authorization", header)
				}
			})
			body, _ := io.ReadAll(resp.Body)
			got := resp.StatusCode
			if got == 405 {
				got = 200 // admitted, but the modern era has only POST
			}
			if got != want {
				t.Errorf("%s %q: %s", method, header, resp.Status)
			}
			challenge, says := "Bearer", "unauthorized: send a token" // RFC 6750, section 3: an error if a token was sent
			if fields := strings.Fields(header); len(fields) == 2 && fields[0] == "Bearer" {
				challenge, says = `Bearer error="invalid_token"`, "unauthorized: this token is not known here"
			}
			if want == 401 && (!bytes.Contains(body, []byte(says)) || resp.Header.Get("WWW-Authenticate") != challenge || len(header) > 8 && bytes.Contains(body, []byte(header[7:]))) {
				t.Errorf("%q: %v %s", header, resp.Header, body)
			}
		}
	}
	resp := plain(w, "POST", func(r *http.Request) { r.Header["Authorization"] = []string{"Bearer " + token, "Bearer " + stranger} })
	if resp.StatusCode != 401 {
		t.Errorf("two headers: %s", resp.Status)
	}
	if resp, err := http.Get("http://" + w.addr + "/healthz"); err != nil || resp.StatusCode != 200 {
		t.Errorf("healthz wants a token: %v", err)
	}
	// A session belongs to the token that began it.
	w.token = token
	c := w.dial(legacy)
	c.result("skills/list", nil, nil)
	c.token = other
	if m := c.call("skills/list", nil); m.Error == nil {
		t.Error("another token uses the session")
	}
}

func TestParseTokensRefuses(t *testing.T) {
	token, line := access.NewToken()
	for name, file := range map[string]string{
		"empty": "", "only remarks": "# x\n", "a token itself": token + "\n", "upper case": strings.ToUpper(line), "short": line[:70], "no prefix": line[7:],
	} {
		_, err := access.ParseTokens(strings.NewReader(file))
		if err == nil {
			t.Errorf("%s: taken", name)
		} else if strings.Contains(err.Error(), token) {
			t.Errorf("%s: repeats the token", name)
		}
	}
}

func TestBadRequests(t *testing.T) {
	t.Parallel()
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxBody: 100_000}})
	eachEra(t, w, func(t *testing.T, c *client) {
		send := func(body string, change func(*http.Request)) (int, message) {
			t.Helper()
			r := c.request("POST", body)
			if change != nil {
				change(r)
			}
			resp := do(t, r)
			if !strings.HasPrefix(resp.Header.Get("Content-Type"), "application/json") && resp.StatusCode >= 400 {
				t.Errorf("%.40q: %s is %s", body, resp.Status, resp.Header.Get("Content-Type"))
			}
			return resp.StatusCode, read(t, resp)
		}
		ping := c.body("skills/list", nil)
		header := func(k, v string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(k, v) } }
		for name, x := range map[string]struct {
			body   string
			change func(*http.Request)
			status int
			code   int64
		}{
			"empty":           {"", nil, 400, -32700},
			"too long":        {`{"x":"` + strings.Repeat("a", 100_001) + `"}`, nil, 413, -32600},
			"wrong type":      {ping, header("Content-Type", "text/plain"), 415, -32600},
			"form":            {ping, header("Content-Type", "application/x-www-form-urlencoded"), 415, -32600},
			"no type":         {ping, func(r *http.Request) { r.Header.Del("Content-Type") }, 415, -32600},
			"Accept":          {ping, header("Accept", "text/html"), 400, -32600},
			"garbled version": {ping, header("Mcp-Protocol-Version", "canary<script>"), 400, -32600},
			"old version":     {ping, header("Mcp-Protocol-Version", "1999-01-01"), 400, map[string]int64{legacy: mcp.CodeUnsupportedProtocolVersion, modern: mcp.CodeHeaderMismatch}[c.era]},
			"event":           {ping, header("Last-Event-ID", "canary<script>"), 400, -32600},
			"session":         {ping, header("Mcp-Session-Id", "a b"), 400, -32600},
		} {
			status, m := send(x.body, x.change)
			if status != x.status || m.code() != x.code {
				t.Errorf("%s: %d, %+v", name, status, m.Error)
			}
			if m.Error != nil && strings.Contains(m.Error.Message, "canary") {
				t.Errorf("%s: repeats what was sent", name)
			}
		}
		if _, m := send(ping, header("Last-Event-ID", "canary<script>")); string(m.ID) == "null" {
			t.Error("a refusal does not carry the request's id")
		}
		status, m := send(c.body("skills/nothing", nil), nil)
		if m.code() != -32601 || string(m.ID) == "null" || c.era == modern && status != 404 || c.era == legacy && status != 200 {
			t.Errorf("unknown method: %d, id %s, %+v", status, m.ID, m.Error)
		}
		if status, m := send(strings.ReplaceAll(ping, modern, "v999.0.0"), header("Mcp-Protocol-Version", "v999.0.0")); c.era == modern && (status != 400 || m.code() != mcp.CodeUnsupportedProtocolVersion) {
			t.Errorf("a version of the future: %d, %+v", status, m.Error)
		}
	})
	for path, want := range map[string]int{"/": 404, "/mcp/": 404, "/healthz": 200} {
		if resp, err := http.Get("http://" + w.addr + path); err != nil || resp.StatusCode != want {
			t.Errorf("%s: %v %v", path, resp.Status, err)
		}
	}
	for _, session := range []string{"", "nobody"} {
		c := &client{site: w, era: legacy, session: session}
		for _, method := range []string{"GET", "DELETE", "PUT"} {
			resp, err := http.DefaultClient.Do(c.request(method, ""))
			if err != nil || resp.StatusCode < 400 || resp.StatusCode >= 500 {
				t.Errorf("%s %q: %v %v", method, session, resp.Status, err)
			}
		}
	}
}

// TestSessionsEnd checks that a session ends with DELETE, which makes room for another session, and
// after a time without requests.
func TestSessionsEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 4 s")
	}
	t.Parallel()
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxSessions: 1, SessionTimeout: 4 * time.Second}})
	resp := do(t, w.dial(legacy).request("DELETE", ""))
	if resp.Body.Close(); resp.StatusCode >= 300 {
		t.Error(resp.Status)
	}
	if !w.dial(legacy).gone() {
		t.Error("an idle session never ends")
	}
}

// TestShutdownLetsCallsEnd checks that at a shutdown, a running call gets its answer, a waiting
// stream is ended, and new requests are refused.
func TestShutdownLetsCallsEnd(t *testing.T) {
	t.Parallel()
	gate := newGate()
	w := start(t, setting{gate: gate})
	eachCall := make(chan string, 2)
	for _, era := range eras {
		c := w.dial(era)
		r := c.request("POST", c.body("resources/read", slowFile()))
		go func() {
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				eachCall <- err.Error()
				return
			}
			body, _ := io.ReadAll(resp.Body)
			eachCall <- string(body)
		}()
		<-gate.begun
	}
	c := w.dial(legacy)
	stream, err := http.DefaultClient.Do(c.request("GET", ""))
	must(t, err)
	m := w.dial(modern)
	listen := m.post(m.body("subscriptions/listen", map[string]any{"notifications": map[string]any{"toolsListChanged": true}}))
	w.stop()
	for _, s := range []*http.Response{stream, listen} {
		done := make(chan struct{})
		go func() { _, _ = io.Copy(io.Discard, s.Body); close(done) }()
		select {
		case <-done:
		case <-time.After(30 * time.Second):
			t.Error("a stream goes on")
		}
	}
	if resp, err := http.Post(w.url, "application/json", strings.NewReader(listBody)); err == nil && resp.StatusCode != 503 {
		t.Errorf("a new call: %s", resp.Status)
	}
	close(gate.open)
	for range eras {
		if got := <-eachCall; !strings.Contains(got, "done") {
			t.Errorf("a call was lost: %q", got)
		}
	}
	if err := <-w.ended; err != nil {
		t.Error(err)
	}
	w.ended <- nil
}

// TestClientThatNeverReads checks that the slot of a call is soon free again if its client never
// reads the answer.
func TestClientThatNeverReads(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 4 s")
	}
	t.Parallel()
	w := start(t, setting{
		files: map[string]string{"big/SKILL.md": skillText("big", "Big."), "big/big.bin": strings.Repeat("\x00", 15<<20)},
		http:  mcpserver.HTTPOptions{MaxCalls: 1, WriteTimeout: 2 * time.Second},
	})
	for _, era := range eras {
		c := w.dial(era)
		// The call itself can be refused, since the slot of the previous call is free only a moment
		// after its answer. The test then sends the call again.
		counted := false
		for end := time.Now().Add(time.Minute); !counted && time.Now().Before(end); {
			conn := w.connect()
			defer conn.Close()
			_ = conn.(*net.TCPConn).SetReadBuffer(4096)
			must(t, c.request("POST", c.body("resources/read", map[string]any{"uri": "skill://big/big.bin"})).Write(conn))
			counted = testwait.Within(400*time.Millisecond, func() bool {
				resp := c.post(c.body("skills/list", nil))
				resp.Body.Close()
				return resp.StatusCode == 429
			})
		}
		if !counted {
			t.Errorf("%s: the answer fits into buffers; the test shows nothing", era)
		}
		awaitFree(t, c)
	}
}

// awaitFree waits until a call is accepted.
func awaitFree(t *testing.T, c *client) {
	t.Helper()
	testwait.Until(t, func() bool {
		resp := c.post(c.body("tools/list", nil))
		resp.Body.Close()
		return resp.StatusCode == 200
	}, "the slot is held on and on")
}

func TestHalfARequest(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for 3 s")
	}
	t.Parallel()
	gate := newGate()
	w := start(t, setting{http: mcpserver.HTTPOptions{MaxCalls: 1, BodyTimeout: time.Second}, gate: gate})
	// A request that is refused before its body is read must end as well.
	c := w.dial(modern)
	busy := c.request("POST", c.body("resources/read", slowFile()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.DefaultClient.Do(busy); err == nil {
			resp.Body.Close()
		}
	}()
	<-gate.begun
	type row struct{ name, text, status string } // without a status, any status but 200 is right
	// each sends the texts of all rows before it waits for the end of their connections.
	each := func(rows ...row) {
		conns := make([]net.Conn, len(rows))
		for i, r := range rows {
			var err error
			conns[i], err = net.Dial("tcp", w.addr)
			must(t, err)
			defer conns[i].Close()
			fmt.Fprint(conns[i], r.text)
		}
		for i, r := range rows {
			_ = conns[i].SetReadDeadline(time.Now().Add(30 * time.Second))
			answer, err := io.ReadAll(conns[i])
			if err != nil && !strings.Contains(err.Error(), "reset") {
				t.Errorf("%s: the connection stays: %v %q", r.name, err, answer)
			}
			if !bytes.HasPrefix(answer, []byte("HTTP/1.1 "+r.status)) && r.status != "" || bytes.Contains(answer, []byte(" 200 ")) {
				t.Errorf("%s: %q", r.name, answer)
			}
		}
	}
	const (
		asJSON = "Content-Type: application/json\r\n"
		half   = "Content-Length: 1000\r\n\r\n{\"js"
	)
	each( // a request takes the place of a call only after its body has arrived
		row{"a large body", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + asJSON + "Content-Length: 100000\r\n\r\n{\"js", "408"},
		row{"a small body", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + asJSON + half, "408"},
		row{"another host", "POST /mcp HTTP/1.1\r\nHost: elsewhere\r\n" + asJSON + half, "403"},
		row{"another type", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: text/plain\r\n" + half, "415"},
		row{"another path", "POST /nothing HTTP/1.1\r\nHost: localhost\r\n" + half, "404"},
	)
	close(gate.open)
	<-done
	each(
		row{"half a body", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + asJSON + "Accept: application/json, text/event-stream\r\n" + half, ""},
		row{"half a header", "POST /mcp HTTP/1.1\r\nHost: local", ""},
		row{"a long header", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("a", 100_000) + "\r\n\r\n", ""},
	)
	awaitFree(t, w.dial(modern))
}

// TestNothingLeaks checks that no header, token or body of a request is repeated in a refusal or a
// log line.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var logged bytes.Buffer
	token, line := access.NewToken()
	tokens, err := access.ParseTokens(strings.NewReader(line))
	must(t, err)
	w := start(t, setting{verifier: tokens, log: locked{&mu, &logged}})
	const canary = "CANARY_CANARY"
	answers := ""
	for _, auth := range []string{"Bearer " + token, "Bearer " + canary} {
		for _, header := range []string{"Host", "Origin", "Mcp-Protocol-Version", "Mcp-Session-Id", "Last-Event-ID", "Mcp-Method", "Mcp-Name", "Accept", "Content-Type", "Cookie", "User-Agent"} {
			for _, method := range []string{"GET", "POST", "DELETE", "PUT"} {
				for _, body := range []string{listBody, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"` + canary + `":1}}`, canary, `{"` + canary} {
					for _, era := range eras {
						r, _ := http.NewRequest(method, w.url, strings.NewReader(body))
						r.Header.Set("Content-Type", "application/json")
						r.Header.Set("Accept", "application/json, text/event-stream")
						r.Header.Set("Mcp-Protocol-Version", era)
						r.Header.Set("Authorization", auth)
						r.Header.Set(header, canary)
						if header == "Host" {
							r.Host = canary
						}
						resp := do(t, r)
						text, _ := io.ReadAll(resp.Body)
						resp.Body.Close()
						if resp.StatusCode >= 400 {
							answers += string(text) + fmt.Sprint(resp.Header)
						}
					}
				}
			}
		}
	}
	mu.Lock()
	defer mu.Unlock()
	for _, secret := range []string{canary, token, strings.ToLower(canary)} {
		if i := strings.Index(answers, secret); i >= 0 {
			t.Errorf("an answer has it: %.300s", answers[max(0, i-150):])
		}
		if i := strings.Index(logged.String(), secret); i >= 0 {
			t.Errorf("the log has it: %.300s", logged.String()[max(0, i-150):])
		}
	}
}

type locked struct {
	mu *sync.Mutex
	to io.Writer
}

func (l locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(p)
}
