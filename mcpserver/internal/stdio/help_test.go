package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

const (
	stdioPatience = 20 * time.Second // for what must happen
	stdioInit     = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}}`
	stdioReady    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	stdioModern   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	stdioHelper   = "KNACK_TEST_STDIO_HELPER"
)

func stdioCall(id, tool string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":{}}}`, id, tool)
}

func stdioPing(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"ping"}`, id)
}

func stdioCancel(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

func stdioListen(id string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},%s}}`, id, stdioModern)
}

// stdioTools is a real SDK server and the handles of its tools, some of which the core has
// too.
type stdioTools struct {
	*mcp.Server
	core    bool
	started chan struct{} // tools that take their time have begun
	open    chan struct{} // lets "gate" go
}

func newStdioTools() *stdioTools {
	s := &stdioTools{
		Server:  mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil),
		started: make(chan struct{}, 4096),
		open:    make(chan struct{}),
	}
	text := func(s string) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
	}
	tool := func(name string, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type":"object"}`)}, h)
	}
	tool("echo", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return text("one\ntwo\r\nthree\u2028"), nil
	})
	tool("nap", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.started <- struct{}{}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
			return text("rested"), nil
		}
	})
	tool("gate", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.started <- struct{}{}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.open:
			return text("passed"), nil
		}
	})
	tool("roots", func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//lint:ignore SA1019 the older era has it, and it is the simplest question a server can ask
		got, err := req.Session.ListRoots(ctx, nil)
		if err != nil {
			return text("no roots"), nil
		}
		return text(fmt.Sprintf("%d roots", len(got.Roots))), nil
	})
	tool("unspeakable", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		s.started <- struct{}{}
		return &mcp.CallToolResult{StructuredContent: map[string]any{"n": math.Inf(1)}}, nil
	})
	tool("garbled", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &jsonrpc.Error{Code: 1, Message: "garbled", Data: json.RawMessage("{")}
	})
	return s
}

// eachDoor runs a test with calls that go to the SDK, and with calls that the core takes.
func eachDoor(t *testing.T, test func(t *testing.T, server func() *stdioTools)) {
	for name, core := range map[string]bool{"SDK": false, "core": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, func() *stdioTools {
				s := newStdioTools()
				s.core = core
				return s
			})
		})
	}
}

// take is the core: it has the tools echo, nap and gate once the session is initialized,
// stuck, which does not hear of cancellations, and broken, whose answer cannot be written.
func (s *stdioTools) take(c wire.Call) (wire.Work, bool) {
	p, ok := wire.ParseParams(c.Method, c.Params)
	initialized := false
	for ss := range s.Sessions() {
		initialized = initialized || ss.InitializeParams() != nil
	}
	if c.Method != "tools/call" || !ok || !initialized {
		return nil, false
	}
	id, name := c.ID, p.Name
	var wait <-chan struct{}
	switch name {
	case "echo", "broken":
	case "nap":
		rested := make(chan struct{})
		time.AfterFunc(20*time.Millisecond, func() { close(rested) })
		wait = rested
	case "gate", "stuck":
		wait = s.open
	default:
		return nil, false
	}
	return work(func(ctx context.Context) wire.Answer {
		if name != "echo" {
			s.started <- struct{}{}
		}
		switch {
		case name == "stuck":
			<-wait
		case wait != nil:
			select {
			case <-ctx.Done():
				return wire.Answer{ID: id, Error: wire.ForClient(ctx.Err())}
			case <-wait:
			}
		}
		return wire.Answer{ID: id, Result: said(name)}
	}), true
}

// work is a call's work, whose answer takes no room.
type work func(context.Context) wire.Answer

func (w work) Answer(ctx context.Context, _ wire.Claim) wire.Answer { return w(ctx) }

func (w work) Close() {}

// said is a result that says which tool was called.
type said string

func (s said) Weight() int { return len(s) }

func (s said) Encode(e *rawjson.Encoder) {
	if s == "broken" {
		panic("CANARY")
	}
	e.Raw(`{"content":[{"type":"text","text":"`)
	e.Raw(string(s))
	e.Raw(`"}]}`)
}

// stdioMessage is any message the server writes.
type stdioMessage struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int64  `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (m stdioMessage) code() int64 {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

// parseStdioOutput reads one write of the transport: one message, one line.
func parseStdioOutput(p []byte) (stdioMessage, error) {
	var m stdioMessage
	if bytes.Count(p, []byte("\n")) != 1 || !bytes.HasSuffix(p, []byte("\n")) {
		return m, fmt.Errorf("not one line: %q", p)
	}
	if err := json.Unmarshal(p, &m); err != nil {
		return m, fmt.Errorf("%w: %q", err, p)
	}
	var keys map[string]json.RawMessage
	_ = json.Unmarshal(p, &keys)
	_, hasID := keys["id"]
	answer := m.Method == ""
	if m.Version != "2.0" || answer && (!hasID || (m.Result == nil) == (m.Error == nil)) {
		return m, fmt.Errorf("no JSON-RPC message: %q", p)
	}
	return m, nil
}

// stdioOut is an output that checks every write.
type stdioOut struct {
	t        testing.TB
	writing  sync.Mutex
	messages chan stdioMessage
}

func (o *stdioOut) Write(p []byte) (int, error) {
	if !o.writing.TryLock() {
		o.t.Error("two writes at once")
		return len(p), nil
	}
	defer o.writing.Unlock()
	m, err := parseStdioOutput(p)
	if err != nil {
		o.t.Error(err)
	}
	o.messages <- m
	return len(p), nil
}

// stdioSession is a running server and its client's end of the pipes.
type stdioSession struct {
	t    testing.TB
	in   *io.PipeWriter
	out  *stdioOut
	conn *conn // set once the first answer is in
	done chan error
}

// stdioPeek is a transport that shows its connection, and its SDK session to the core.
type stdioPeek struct {
	*Transport
	session *stdioSession
}

func (p stdioPeek) Connect(ctx context.Context) (mcp.Connection, error) {
	c, err := p.Transport.Connect(ctx)
	p.session.conn, _ = c.(*conn)
	return c, err
}

// defaults fills in what a test leaves out.
func (o Options) defaults() Options {
	if o.MaxInFlight == 0 {
		o.MaxInFlight = 256
	}
	if o.MaxLine == 0 {
		o.MaxLine = 16 << 20
	}
	if o.Drain == 0 {
		o.Drain = 10 * time.Second
	}
	o.Log = slog.New(slog.DiscardHandler)
	return o
}

// startStdio runs a session of a server. In and Out are set if they are unset.
func startStdio(t testing.TB, server *stdioTools, o *Options) *stdioSession {
	t.Helper()
	base := runtime.NumGoroutine()
	s := &stdioSession{t: t, done: make(chan error, 1)}
	if o.In == nil {
		o.In, s.in = io.Pipe()
	}
	if o.Out == nil {
		s.out = &stdioOut{t: t, messages: make(chan stdioMessage, 8192)}
		o.Out = s.out
	}
	if server.core {
		o.Core = server.take
	}
	go func() { s.done <- server.Run(context.Background(), stdioPeek{New(o.defaults()), s}) }()
	t.Cleanup(func() {
		if s.in != nil {
			s.in.Close()
		}
		noStdioLeak(t, base)
	})
	return s
}

// noStdioLeak waits for the goroutines that were started since base to end.
func noStdioLeak(t testing.TB, base int) {
	t.Helper()
	for range 100 { // most end at once, and a fuzzer has no millisecond to spare
		if runtime.NumGoroutine() <= base {
			return
		}
		runtime.Gosched()
	}
	testwait.Until(t, func() bool { return runtime.NumGoroutine() <= base }, "more goroutines than before:", func() string {
		buf := make([]byte, 1<<20)
		return string(buf[:runtime.Stack(buf, true)])
	})
}

func (s *stdioSession) send(lines ...string) {
	s.t.Helper()
	if _, err := io.WriteString(s.in, strings.Join(lines, "\n")+"\n"); err != nil {
		s.t.Fatalf("the session reads no more: %v", err)
	}
}

// recv returns the next message the server wrote.
func (s *stdioSession) recv() stdioMessage {
	s.t.Helper()
	select {
	case m := <-s.out.messages:
		return m
	case err := <-s.done:
		s.done <- err
		s.t.Fatalf("the session has ended: %v", err)
	case <-time.After(stdioPatience):
		s.t.Fatal("no answer")
	}
	panic("unreachable")
}

// want receives one message and checks id and error code.
func (s *stdioSession) want(id string, code int64) stdioMessage {
	s.t.Helper()
	m := s.recv()
	if string(m.ID) != id || m.code() != code {
		s.t.Fatalf("got id %s code %d (%+v), want id %s code %d", m.ID, m.code(), m.Error, id, code)
	}
	return m
}

// silent checks that nothing more is written before a ping is answered.
func (s *stdioSession) silent() {
	s.t.Helper()
	s.send(stdioPing(`"silent"`))
	s.want(`"silent"`, 0)
}

func (s *stdioSession) initialize() {
	s.t.Helper()
	s.send(stdioInit, stdioReady)
	s.want(`"init"`, 0)
}

// end closes the input and returns what Run returned.
func (s *stdioSession) end() error {
	s.t.Helper()
	if s.in != nil {
		s.in.Close()
	}
	return s.wait()
}

func (s *stdioSession) wait() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(stdioPatience):
		s.t.Fatal("the session does not end")
		return nil
	}
}

func (s *stdioTools) await(t testing.TB, n int) {
	t.Helper()
	for range n {
		select {
		case <-s.started:
		case <-time.After(stdioPatience):
			t.Fatal("the tool was not called")
		}
	}
}
