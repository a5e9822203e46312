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
	msg, no := parseLine(line)
	if no != nil {
		t.Fatal(no.message)
	}
	for i := range line {
		line[i] = '!'
	}
	req := msg.(*jsonrpc.Request)
	if req.ID.Raw() != "abc" || req.Method != "tools/call" || string(req.Params) != `{"name":"echo"}` {
		t.Errorf("got %v %q %q", req.ID.Raw(), req.Method, req.Params)
	}
}

func TestStdioBusy(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &StdioTransport{MaxInFlight: 3})
	s.initialize()
	s.send(stdioCall("1", "gate"), stdioCall("2", "gate"), stdioCall("3", "gate"))
	server.await(t, 3)
	for range 100 {
		s.send(stdioPing(`"more"`))
		if m := s.want(`"more"`, -32000); m.Error.Message != "server busy: 3 calls in flight; retry" {
			t.Fatal(m.Error.Message)
		}
	}
	s.send(stdioCancel("2"))
	s.want("2", 0) // the tool reports its cancellation
	s.silent()
	close(server.open)
	s.recv()
	s.recv()
	s.silent()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// A place is free again by the time the client can see the answer.
func TestStdioPlaceAndIDAreFreeWithTheAnswer(t *testing.T) {
	s := startStdio(t, newStdioTools(), &StdioTransport{MaxInFlight: 1})
	for range 1000 {
		s.send(stdioPing("1"))
		s.want("1", 0)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

func TestStdioDuplicateID(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &StdioTransport{})
	s.initialize()
	s.send(stdioCall("7", "gate"))
	server.await(t, 1)
	for _, line := range []string{stdioPing("7"), stdioPing("7.0"), stdioListen("7"), `{"jsonrpc":"2.0","id":7}`} {
		s.send(line)
		s.want("null", -32600)
	}
	s.send(stdioPing(`"7"`)) // a string is another id
	s.want(`"7"`, 0)
	close(server.open)
	s.want("7", 0)
	s.send(stdioPing("7"))
	s.want("7", 0)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

func TestStdioListenHoldsNoPlaceAndNoEnd(t *testing.T) {
	s := startStdio(t, newStdioTools(), &StdioTransport{MaxInFlight: 1})
	s.send(stdioListen("1"))
	if m := s.recv(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %+v", m)
	}
	s.silent()
	s.send(stdioListen("2"))
	s.want("2", -32000)
	s.send(stdioCancel("1"))
	s.want("1", 0)
	s.send(stdioListen("3"))
	if m := s.recv(); m.Method != "notifications/subscriptions/acknowledged" {
		t.Fatalf("got %+v", m)
	}
	began := time.Now()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > DefaultDrainTimeout/2 {
		t.Errorf("the end took %v", took)
	}
}

func TestStdioDrainsSlowCalls(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &StdioTransport{DrainTimeout: stdioPatience})
	s.initialize()
	s.send(stdioCall("1", "gate"), stdioCall("2", "gate"))
	server.await(t, 2)
	s.in.Close()
	time.Sleep(20 * time.Millisecond)
	close(server.open)
	if err := s.wait(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.out.messages); n != 2 {
		t.Errorf("%d answers of 2", n)
	}
}

func TestStdioDrainIsBounded(t *testing.T) {
	for _, timeout := range []time.Duration{-1, 50 * time.Millisecond} {
		server := newStdioTools()
		s := startStdio(t, server, &StdioTransport{DrainTimeout: timeout})
		s.initialize()
		s.send(stdioCall("1", "gate"))
		server.await(t, 1)
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.out.messages); n != 0 {
			t.Errorf("%v: %d answers after the session", timeout, n)
		}
	}
}

// The client's answers reach the server; once it can give none, nobody waits.
func TestStdioServerAsksClient(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &StdioTransport{DrainTimeout: 2 * stdioPatience})
	s.initialize()
	asked := func() json.RawMessage {
		t.Helper()
		m := s.recv()
		if m.Method != "roots/list" {
			t.Fatalf("got %+v", m)
		}
		return m.ID
	}
	s.send(stdioCall(`"a"`, "roots"))
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[{"uri":"file:///a"}]}}`, asked()))
	if m := s.want(`"a"`, 0); !strings.Contains(string(m.Result), "1 roots") {
		t.Errorf("got %s", m.Result)
	}
	for _, failure := range []string{`{"code":-32601,"message":"no"}`, `"no"`} {
		s.send(stdioCall(`"b"`, "roots"))
		s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":%s}`, asked(), failure))
		s.want(`"b"`, 0)
	}
	s.conn.calls.mu.Lock()
	if n := len(s.conn.calls.asked); n != 0 {
		t.Errorf("%d calls of the server's are left over", n)
	}
	s.conn.calls.mu.Unlock()
	s.send(stdioCall(`"c"`, "roots"))
	asked()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
	if m := <-s.out.messages; string(m.ID) != `"c"` || m.code() != 0 {
		t.Errorf("got %+v", m)
	}
}

func TestStdioServerAsksAfterTheEnd(t *testing.T) {
	server := newStdioTools()
	input := strings.Join([]string{stdioInit, stdioReady, stdioCall("1", "roots"), stdioCall("2", "roots")}, "\n")
	for range 20 {
		s := startStdio(t, server, &StdioTransport{In: strings.NewReader(input), DrainTimeout: 2 * stdioPatience})
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		answers := 0
		for len(s.out.messages) > 0 {
			if m := <-s.out.messages; m.Method == "" {
				answers++
			}
		}
		if answers != 3 {
			t.Fatalf("%d answers of 3", answers)
		}
	}
}

func TestStdioUnanswerableCalls(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &StdioTransport{MaxInFlight: 1, DrainTimeout: -1})
	s.initialize()
	s.send(stdioCall("1", "garbled"))
	s.want("1", -32603)
	// The SDK never answers this one. Once the client gives up, it holds no place.
	s.send(stdioCall("2", "unspeakable"), stdioPing("3"))
	s.want("3", -32000)
	server.await(t, 1)
	s.send(stdioCancel("2"))
	s.silent()
	s.send(stdioPing("2"))
	s.want("null", -32600)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// A call that was given up and answers after all is not counted twice.
func TestStdioLedgerLateAnswer(t *testing.T) {
	l := newCallLedger(1, -1)
	id := func(n float64) jsonrpc.ID {
		id, err := jsonrpc.MakeID(n)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	call := func(n float64) *refusal { return l.admit(&jsonrpc.Request{ID: id(n), Method: "x"}) }
	if call(1) != nil || call(2) == nil {
		t.Fatal("the bound does not hold")
	}
	l.cancelled(id(1))
	if no := call(2); no != nil {
		t.Fatal(no.message)
	}
	if l.answering(id(1)) {
		t.Error("the answer is owed twice")
	}
	if call(3) == nil {
		t.Error("the place was freed twice")
	}
	if !l.answering(id(2)) || l.owing() != 1 {
		t.Errorf("%d owed", l.owing())
	}
	l.answered()
	if l.owing() != 0 || len(l.calls) != 0 || l.places != 0 {
		t.Errorf("left over: %+v", l)
	}
}

func TestStdioBrokenOut(t *testing.T) {
	for _, tt := range []struct {
		name  string
		err   error
		input string
	}{
		{"answer", errors.New("gone"), stdioPing("1")},
		{"answer, EOF", io.EOF, stdioPing("1")},
		{"refusal", errors.New("gone"), "oops"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in, client := io.Pipe()
			defer client.Close()
			s := startStdio(t, newStdioTools(), &StdioTransport{In: in, Out: stdioBroken{tt.err}})
			io.WriteString(client, tt.input+"\n")
			if err := s.wait(); err == nil || !strings.Contains(err.Error(), "writing to the client") {
				t.Errorf("got %v", err)
			}
			client.Close() // the reader is in In.Read, as promised
		})
	}
}

// stdioStopsAfter is an output that breaks after n writes, the last cut short.
type stdioStopsAfter struct{ n int }

func (o *stdioStopsAfter) Write(p []byte) (int, error) {
	if o.n--; o.n < 0 {
		return len(p) / 2, nil
	}
	return len(p), nil
}

func TestStdioBrokenOutEndsRunningCalls(t *testing.T) {
	server := newStdioTools()
	in, client := io.Pipe()
	s := startStdio(t, server, &StdioTransport{In: in, Out: &stdioStopsAfter{n: 1}})
	t.Cleanup(func() { client.Close() })
	io.WriteString(client, stdioInit+"\n"+stdioReady+"\n"+stdioCall("1", "gate")+"\n")
	server.await(t, 1)
	io.WriteString(client, stdioPing("2")+"\n")
	if err := s.wait(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
	client.Close()
}

// The wait for answers ends when none can be written any more.
func TestStdioBrokenOutEndsDrain(t *testing.T) {
	input := strings.Join([]string{stdioInit, stdioReady, stdioCall("1", "gate"), stdioCall("2", "nap")}, "\n")
	s := startStdio(t, newStdioTools(), &StdioTransport{
		In: strings.NewReader(input), Out: &stdioStopsAfter{n: 1}, DrainTimeout: 2 * stdioPatience,
	})
	if err := s.wait(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

func TestStdioBatchIsNamed(t *testing.T) {
	_, no := parseLine([]byte(` [] `))
	if no == nil || !strings.Contains(no.message, "batches are not supported") {
		t.Errorf("got %+v", no)
	}
}

func TestStdioReadFailureIsReported(t *testing.T) {
	gone := errors.New("gone")
	in := io.MultiReader(strings.NewReader(stdioPing("1")+"\n"), stdioBroken{gone})
	s := startStdio(t, newStdioTools(), &StdioTransport{In: in})
	if err := s.wait(); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if n := len(s.out.messages); n != 1 {
		t.Errorf("%d answers of 1", n)
	}
}

func TestStdioClose(t *testing.T) {
	base := runtime.NumGoroutine()
	in, client := io.Pipe()
	transport := &StdioTransport{In: in, Out: io.Discard}
	conn, err := transport.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := transport.Connect(t.Context()); err == nil {
		t.Error("connected twice")
	}
	if conn.SessionID() != "" {
		t.Error("a session id")
	}
	read := make(chan error)
	go func() {
		_, err := conn.Read(context.Background())
		read <- err
	}()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := conn.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if err := <-read; err != io.EOF {
		t.Errorf("Read: %v", err)
	}
	if err := conn.Write(t.Context(), &jsonrpc.Request{Method: "x"}); !errors.Is(err, mcp.ErrConnectionClosed) {
		t.Errorf("Write: %v", err)
	}
	io.WriteString(client, "\n\n") // one read, and the reader sees the end
	client.Close()
	noStdioLeak(t, base)
}

func TestStdioManyConcurrentCalls(t *testing.T) {
	const n = 1000
	for _, bound := range []int{n, 0} {
		server := newStdioTools()
		s := startStdio(t, server, &StdioTransport{MaxInFlight: bound})
		s.initialize()
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() {
				tool := []string{"echo", "nap"}[i%2]
				io.WriteString(s.in, stdioCall(fmt.Sprint(i), tool)+"\n")
			})
		}
		got := map[string]int64{}
		for range n {
			m := s.recv()
			if _, dup := got[string(m.ID)]; dup {
				t.Fatalf("%s is answered twice", m.ID)
			}
			got[string(m.ID)] = m.code()
		}
		wg.Wait()
		for id, code := range got {
			if code != 0 && (bound != 0 || code != -32000) {
				t.Fatalf("%s: code %d", id, code)
			}
		}
		if len(got) != n {
			t.Fatalf("%d answers", len(got))
		}
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
		if extra := len(s.out.messages); extra != 0 {
			t.Errorf("%d answers too many", extra)
		}
	}
}
