package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

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

// stdioTools is a real SDK server and the handles of its tools.
type stdioTools struct {
	*mcp.Server
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
	conn *stdioConn // set once the first answer is in
	done chan error
}

// stdioPeek is a transport that shows its connection.
type stdioPeek struct {
	*StdioTransport
	session *stdioSession
}

func (p stdioPeek) Connect(ctx context.Context) (mcp.Connection, error) {
	conn, err := p.StdioTransport.Connect(ctx)
	p.session.conn, _ = conn.(*stdioConn)
	return conn, err
}

// startStdio runs server on transport, whose In and Out it sets if they are unset.
func startStdio(t testing.TB, server *stdioTools, transport *StdioTransport) *stdioSession {
	t.Helper()
	base := runtime.NumGoroutine()
	s := &stdioSession{t: t, done: make(chan error, 1)}
	if transport.In == nil {
		transport.In, s.in = io.Pipe()
	}
	if transport.Out == nil {
		s.out = &stdioOut{t: t, messages: make(chan stdioMessage, 8192)}
		transport.Out = s.out
	}
	go func() { s.done <- server.Run(context.Background(), stdioPeek{transport, s}) }()
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
	for end := time.Now().Add(stdioPatience); runtime.NumGoroutine() > base; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), base, buf[:runtime.Stack(buf, true)])
		}
	}
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

func TestStdioOneShotPipeLosesNothing(t *testing.T) {
	input := strings.Join([]string{stdioInit, stdioReady,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, stdioCall("2", "nap")}, "\n")
	server := newStdioTools()
	for i := range 50 {
		s := startStdio(t, server, &StdioTransport{In: strings.NewReader(input)})
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.out.messages); n != 3 {
			t.Fatalf("try %d: %d answers of 3", i, n)
		}
	}
}

// TestStdioHelperProcess is the server of TestStdioProcess.
func TestStdioHelperProcess(t *testing.T) {
	if os.Getenv(stdioHelper) == "" {
		t.Skip("runs as a subprocess")
	}
	if err := newStdioTools().Run(context.Background(), &StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func TestStdioProcess(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	input := strings.Join([]string{"\ufeff" + stdioInit, stdioReady, "oops", stdioCall("1", "nap"), stdioCall("2", "echo")}, "\r\n")
	for range 10 {
		cmd := exec.Command(exe, "-test.run=^TestStdioHelperProcess$")
		cmd.Env = append(os.Environ(), stdioHelper+"=1")
		cmd.Stdin = strings.NewReader(input)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		ids := map[string]int64{}
		for line := range bytes.Lines(out) {
			m, err := parseStdioOutput(line)
			if err != nil {
				t.Fatal(err)
			}
			ids[string(m.ID)] = m.code()
		}
		if diff := cmp.Diff(map[string]int64{`"init"`: 0, "null": -32700, "1": 0, "2": 0}, ids); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestStdioRefusesAndGoesOn(t *testing.T) {
	deep := strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000)
	tests := []struct {
		line, id string
		code     int64
	}{
		{`oops`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}}`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} {}`, "null", -32700},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, "null", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}", "null", -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":\"a\tb\",\"method\":\"ping\"}", "null", -32700},
		{"\ufeff" + `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "null", -32700}, // not the first line
		{deep, "null", -32700},
		{`1`, "null", -32600},
		{`"ping"`, "null", -32600},
		{`null`, "null", -32600},
		{`true`, "null", -32600},
		{`[]`, "null", -32600},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600},
		{`{}`, "null", -32600},
		{`{"jsonrpc":"2.0"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"error":null}`, "1", -32600},
		{`{"id":"a","method":"ping"}`, `"a"`, -32600},
		{`{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", -32600},
		{`{"jsonrpc":2.0,"id":1,"method":"ping"}`, "1", -32600},
		{`{"JSONRPC":"2.0","id":1,"method":"ping"}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"Method":"ping"}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":7}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":null}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, "1", -32600},
		{`{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":[1],"method":"ping"}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":{},"result":{}}`, "null", -32600},
		{`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "1.5", -32600},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, "9007199254740993", -32600},
		{`{"jsonrpc":"2.0","id":1e999,"method":"ping"}`, "1e999", -32600},
		{`{"jsonrpc":"2.0","id":1,"method":"nothing"}`, "1", -32601}, // the SDK's word
	}
	s := startStdio(t, newStdioTools(), &StdioTransport{})
	s.initialize()
	for _, tt := range tests {
		s.send(tt.line)
		if m := s.recv(); string(m.ID) != tt.id || m.code() != tt.code {
			t.Errorf("%.60q: got id %s %+v, want id %s code %d", tt.line, m.ID, m.Error, tt.id, tt.code)
		}
		s.silent()
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

func TestStdioPassesOver(t *testing.T) {
	s := startStdio(t, newStdioTools(), &StdioTransport{})
	s.send("\ufeff" + strings.TrimSpace(stdioInit) + "\r")
	s.want(`"init"`, 0)
	for _, line := range []string{
		"", "\r", " \t ", "\r\r",
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
		`{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}`,
		`{"jsonrpc":"2.0","id":99,"result":{}}`, // nobody asked
		`{"jsonrpc":"2.0","method":"notifications/nothing"}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
		stdioCancel("77"), stdioCancel(`{}`), stdioCancel(`null`),
	} {
		s.send(line)
		s.silent()
	}
	for _, id := range []string{"1.0", "1e0", "-0"} {
		s.send(" \t" + stdioPing(id) + " \r")
		if m := s.recv(); m.code() != 0 {
			t.Errorf("id %s: %+v", id, m.Error)
		}
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

func TestStdioLineLimit(t *testing.T) {
	const limit = 200_000
	s := startStdio(t, newStdioTools(), &StdioTransport{MaxLine: limit})
	pad := func(n int) string {
		line := stdioPing("1")
		return line[:len(line)-1] + strings.Repeat(" ", n-len(line)) + "}"
	}
	for _, end := range []string{"", "\r"} {
		s.send(pad(limit) + end)
		s.want("1", 0)
		for _, over := range []int{1, 2, 3, 5, 6, 70_000, 5_000_000} {
			s.send(pad(limit+over) + end)
			if m := s.want("null", -32600); !strings.Contains(m.Error.Message, "200000") {
				t.Errorf("the limit is not named: %q", m.Error.Message)
			}
			s.silent()
		}
	}
	go func() {
		io.WriteString(s.in, strings.Repeat("x", limit+1)) // and no newline
		s.in.Close()
	}()
	s.want("null", -32600)
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
}

// stdioEndless is a line of n bytes.
type stdioEndless struct{ n int }

func (e *stdioEndless) Read(p []byte) (int, error) {
	if e.n <= 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.n)
	e.n -= n
	for i := range p[:n] {
		p[i] = 'x'
	}
	return n, nil
}

func TestStdioLongLineIsNotHeld(t *testing.T) {
	lines := newLineReader(&stdioEndless{n: 64 << 20}, 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := lines.next(); err != errLineTooLong {
		t.Fatalf("got %v", err)
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 8<<20 {
		t.Errorf("%d bytes allocated for a line of 64 MiB with a limit of 1 MiB", got)
	}
	if lines.buf != nil {
		t.Errorf("%d bytes kept", cap(lines.buf))
	}
	if _, err := lines.next(); err != io.EOF {
		t.Fatalf("got %v", err)
	}
}

func TestStdioLineEndings(t *testing.T) {
	broken := errors.New("broken")
	read := func(in io.Reader) (got []string, err error) {
		lines := newLineReader(in, 10)
		for {
			line, err := lines.next()
			if err != nil && err != errLineTooLong {
				return got, err
			}
			got = append(got, fmt.Sprintf("%s/%v", line, err != nil))
		}
	}
	got, err := read(strings.NewReader("\ufeffa\r\n\n\ufeffb\n0123456789\r\n01234567890\nlast"))
	want := []string{"a/false", "/false", "\ufeffb/false", "0123456789/false", "/true", "last/false"}
	if diff := cmp.Diff(want, got); diff != "" || err != io.EOF {
		t.Errorf("%v\n%s", err, diff)
	}
	got, err = read(io.MultiReader(strings.NewReader("a\npart"), stdioBroken{broken}))
	if diff := cmp.Diff([]string{"a/false"}, got); diff != "" || err != broken {
		t.Errorf("%v\n%s", err, diff)
	}
}

// stdioBroken fails every read and write.
type stdioBroken struct{ err error }

func (b stdioBroken) Read([]byte) (int, error)  { return 0, b.err }
func (b stdioBroken) Write([]byte) (int, error) { return 0, b.err }

func TestStdioMessageHoldsNothingOfTheLine(t *testing.T) {
	line := []byte(`{"jsonrpc":"2.0","id":"abc","method":"tools/call","params":{"name":"echo"}}`)
	msg, no := wire.Parse(line)
	if no != nil {
		t.Fatal(no.Error.Message)
	}
	for i := range line {
		line[i] = '!'
	}
	req := msg.(*jsonrpc.Request)
	if req.ID.Raw() != "abc" || req.Method != "tools/call" || string(req.Params) != `{"name":"echo"}` {
		t.Errorf("got %v %q %q", req.ID.Raw(), req.Method, req.Params)
	}
}
