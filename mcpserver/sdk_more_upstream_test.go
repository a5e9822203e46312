package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// More of what doc/conformance.md says of the SDK (v1.8.0). When one of these tests
// fails, the SDK has fixed something.

func TestUpstreamCustomHandlersGetNoExtra(t *testing.T) {
	handler := reflect.TypeOf(mcp.AddReceivingCustomMethod[*upstreamParams, *upstreamResult]).In(2)
	for i := range handler.NumIn() {
		in := handler.In(i)
		if in.Kind() == reflect.Pointer {
			in = in.Elem()
		}
		if in.Kind() == reflect.Struct {
			if _, has := in.FieldByName("Extra"); has {
				t.Errorf("upstream gives handlers of custom methods %s, with Extra: places.hold need not be middleware for them", handler.In(i))
			}
		}
	}
	// And no params where a request has none.
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	missing := make(chan bool, 1)
	err := mcp.AddReceivingCustomMethod(s, "x/y", func(_ context.Context, _ *mcp.ServerSession, p *upstreamParams) (*upstreamResult, error) {
		missing <- p == nil
		return &upstreamResult{}, nil
	})
	here, there := mcp.NewInMemoryTransports()
	_, err2 := s.Connect(t.Context(), there, nil)
	conn, err3 := here.Connect(t.Context())
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for i, line := range []string{upstreamInit, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, `{"jsonrpc":"2.0","id":99,"method":"x/y"}`} {
		msg, err := jsonrpc.DecodeMessage([]byte(line))
		if err == nil {
			err = conn.Write(t.Context(), msg)
		}
		if err == nil && i == 0 {
			_, err = conn.Read(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !<-missing {
		t.Error("upstream makes params where there are none: skillsext/handlers.go need not")
	}
}

func TestUpstreamHasNoSessionCap(t *testing.T) {
	options := reflect.TypeFor[mcp.StreamableHTTPOptions]()
	for i := range options.NumField() {
		if name := options.Field(i).Name; strings.Contains(name, "Session") && name != "SessionTimeout" || strings.Contains(name, "Initializ") {
			t.Errorf("upstream has %s: mcpserver/internal/httpd/session.go may use it", name)
		}
	}
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	const sessions = 300
	for range sessions {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, upstreamRequest(upstreamInit, ""))
		if w.Code != http.StatusOK {
			t.Fatalf("upstream has a cap: %s", w.Body)
		}
	}
	n := 0
	for ss := range s.Sessions() {
		n++
		defer ss.Close()
	}
	if n != sessions { // none has sent notifications/initialized, and none gives way
		t.Errorf("upstream ends sessions by itself: %d of %d are there", n, sessions)
	}
}

const upstreamPing = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

const upstreamInit = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}}`

func upstreamRequest(body, version string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if version != "" {
		r.Header.Set("Mcp-Protocol-Version", version)
	}
	return r
}

// go-sdk#22.
func TestUpstreamWorksOnAnyNumberOfCalls(t *testing.T) {
	const calls = 2 * defaultMaxInFlight
	gate, begun := make(chan struct{}), make(chan struct{}, calls)
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "wait", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		begun <- struct{}{}
		<-gate
		return &mcp.CallToolResult{}, nil
	})
	defer close(gate)
	cs := upstreamConnect(t, s, "")
	for range calls {
		go func() { _, _ = cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "wait"}) }()
	}
	deadline := time.After(30 * time.Second)
	for i := range calls {
		select {
		case <-begun:
		case <-deadline:
			t.Fatalf("upstream works on %d calls at once: the bounds in mcpserver/internal/stdio/ledger.go and mcpserver/internal/httpd/visit.go may go", i)
		}
	}
}

func TestUpstreamHasNoCORS(t *testing.T) {
	for _, stateless := range []bool{true, false} {
		s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
		h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: stateless})
		r, w := httptest.NewRequest(http.MethodOptions, "http://localhost/", nil), httptest.NewRecorder()
		r.Header.Set("Origin", "https://app.example")
		r.Header.Set("Access-Control-Request-Method", "POST")
		if h.ServeHTTP(w, r); w.Code != http.StatusMethodNotAllowed {
			t.Errorf("upstream answers a preflight: preflight in internal/server/httpguard/origin.go may go: %d %v", w.Code, w.Header())
		}
	}
}

// Typed tools are validated, which costs 15 to 35 % of a call, in words of the SDK's.
func TestUpstreamLeavesRawToolsAlone(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "raw", InputSchema: json.RawMessage(`{"type":"object","required":["x"]}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(req.Params.Arguments)}}}, nil
	})
	cs := upstreamConnect(t, s, "")
	if res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "raw", Arguments: []int{1}}); err != nil || res.IsError {
		t.Errorf("upstream validates raw tools: the contracts' own words for malformed calls are no longer said: %+v, %v", res, err)
	}
}

// go-sdk#760.
func TestUpstreamGuardsTheLoopbackAlone(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, nil)
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Stateless: true})
	for address, want := range map[string]bool{"127.0.0.1:80": false, "192.0.2.1:80": true} {
		r, w := upstreamRequest(upstreamPing, "2025-11-25"), httptest.NewRecorder()
		r.Host = "evil.example"
		local, err := net.ResolveTCPAddr("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, net.Addr(local))))
		if got := w.Code != http.StatusForbidden; got != want {
			t.Errorf("%s: upstream lets a foreign Host in: %t: see the list in internal/server/httpguard/origin.go", address, got)
		}
	}
}

// c044cdb fixed the same for readOnlyHint.
func TestUpstreamNeverSaysIsErrorFalse(t *testing.T) {
	if text, err := json.Marshal(&mcp.CallToolResult{Content: []mcp.Content{}}); err != nil || strings.Contains(string(text), "isError") {
		t.Errorf("upstream says isError: false: WritesIsError in mcpserver/tools.go may go: %s, %v", text, err)
	}
}

func TestUpstreamHintsInEveryVersion(t *testing.T) {
	for _, v := range []any{&mcp.ListToolsResult{}, &mcp.ListResourcesResult{}, &mcp.ListResourceTemplatesResult{}, &mcp.ReadResourceResult{}, &mcp.ListPromptsResult{}} {
		if text, err := json.Marshal(v); err != nil || !bytes.Contains(text, []byte(`"ttlMs"`)) {
			t.Errorf("upstream leaves the hints out of %T: mcpserver/result.go may go: %s, %v", v, text, err)
		}
	}
}

func TestUpstreamTakesAMismatchForAVersion(t *testing.T) {
	status, text, _ := upstreamPost(t, false, "2025-11-25", `{"jsonrpc":"2.0","id":1,"method":"resources/list","params":{`+upstreamMeta+`}}`)
	if status != http.StatusBadRequest || !strings.Contains(text, "-32022") || strings.Contains(text, `"2026-07-28",`) {
		t.Errorf("upstream tells a header that does not agree: mcpserver/internal/httpd/headers.go may use it: %d %s", status, text)
	}
}

// go-sdk#1173.
func TestUpstreamOldVersionIsPlainText(t *testing.T) {
	status, text, h := upstreamPost(t, false, "1999-01-01", upstreamPing)
	if status != http.StatusBadRequest || !strings.HasPrefix(h.Get("Content-Type"), "text/plain") {
		t.Errorf("upstream answers an old version as a message: mcpserver/internal/httpd/headers.go may use it: %d %s", status, text)
	}
}

func TestUpstreamLogsClientsFaults(t *testing.T) {
	log, got := lines(slog.LevelError)
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{Logger: log})
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, &mcp.StreamableHTTPOptions{Logger: log})
	h.ServeHTTP(httptest.NewRecorder(), upstreamRequest(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`, "2025-11-25"))
	if text := fmt.Sprint(got()); !strings.Contains(text, "method invalid during initialization") {
		t.Errorf("upstream logs no client's fault as an error: clientFaults in mcpserver/internal/wire/errors.go may go: %s", text)
	}
}

// A change of one resource costs a list of all: 16 bytes for each, at the least.
func TestUpstreamSortsAllResources(t *testing.T) {
	const n = 100_000
	s := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{PageSize: 1})
	read := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) { return nil, nil }
	add := func(i int) { s.AddResource(&mcp.Resource{URI: fmt.Sprintf("x:%d", i), Name: "x"}, read) }
	for i := range n {
		add(i)
	}
	cs := upstreamConnect(t, s, "")
	page := func() uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := cs.ListResources(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	page()
	same := page()
	add(n)
	if changed := page(); changed < same+16*n {
		t.Errorf("upstream lists %d resources after a change with %d bytes, and with %d before: resources/list need not be answered by middleware", n, changed, same)
	}
}
