package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/knack-dev/knack/internal/base/rawjson"
	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

const (
	stdioPatience = 20 * time.Second // for an expected event
	stdioInit     = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}}`
	stdioReady    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	stdioModern   = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
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

// stdioTools is a server with some tools. The tools echo, nap and gate answer immediately, after a
// moment, and when open is closed. roots asks the client for its roots, stuck ignores
// cancellations, and the answer of broken panics when it is encoded.
type stdioTools struct {
	started   chan struct{} // has a token for each call that has begun, except calls of echo and roots
	open      chan struct{} // closed when "gate" and "stuck" may end
	handshake chan struct{} // if not nil, closed when initialize may end
}

func newStdioTools() *stdioTools {
	return &stdioTools{started: make(chan struct{}, 4096), open: make(chan struct{})}
}

// core is the core of one session.
func (s *stdioTools) core(c *Conn) Core { return stdioCore{s, c} }

type stdioCore struct {
	*stdioTools
	conn *Conn
}

func (stdioCore) Hear(*wire.Message)             {}
func (stdioCore) Refused(string, *jsonrpc.Error) {}

func (s stdioCore) Take(m *wire.Message) (wire.Work, *jsonrpc.Error) {
	p, no := wire.ParseParams(m.Method, m.Params)
	if no != nil {
		return nil, no
	}
	id, name := m.ID, p.Name
	switch m.Method {
	case "initialize":
		return work(func(context.Context) wire.Answer {
			if s.handshake != nil {
				s.started <- struct{}{}
				<-s.handshake
			}
			return wire.Answer{ID: id, Result: said("hello")}
		}), nil
	case "ping", "tools/list":
		return work(func(context.Context) wire.Answer { return wire.Answer{ID: id, Result: said(m.Method)} }), nil
	case "large":
		return work(func(context.Context) wire.Answer {
			return wire.Answer{ID: id, Result: said(strings.Repeat("0123456789", 100_000))}
		}), nil
	case "subscriptions/listen":
		return work(func(ctx context.Context) wire.Answer {
			s.conn.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}`))
			<-ctx.Done()
			return wire.Answer{ID: id, Result: said("over")}
		}), nil
	case "tools/call":
	default:
		return nil, wire.MethodNotFound
	}
	return work(func(ctx context.Context) wire.Answer {
		var wait <-chan struct{}
		switch name {
		case "nap":
			rested := make(chan struct{})
			time.AfterFunc(20*time.Millisecond, func() { close(rested) })
			wait = rested
		case "gate", "stuck":
			wait = s.open
		case "roots":
			var got struct{ Roots []any }
			answer, err := s.conn.Ask(ctx, "roots/list")
			if err == nil {
				err = json.Unmarshal(answer, &got)
			}
			if err != nil {
				return wire.Answer{ID: id, Result: said("no roots")}
			}
			return wire.Answer{ID: id, Result: said(fmt.Sprintf("%d roots", len(got.Roots)))}
		}
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
	}), nil
}

// work is the work of a call, for whose answer no memory is reserved.
type work func(context.Context) wire.Answer

func (w work) Answer(ctx context.Context, _ wire.Claim) wire.Answer { return w(ctx) }

func (w work) Close() {}

// said is a result that contains the name of the tool that was called.
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

// parseStdioOutput parses the bytes of one write of the transport, which must be one message on one
// line.
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
	conn *Conn // set once the first answer is in
	done chan error
}

// startStdio runs a session of a server. In and Out are set if they are unset.
func startStdio(t testing.TB, server *stdioTools, o *Transport) *stdioSession {
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
	go func() {
		s.done <- o.Serve(context.Background(), func(c *Conn) Core {
			s.conn = c
			return server.core(c)
		})
	}()
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
	for range 100 { // most end immediately, and a fuzzer must not wait a millisecond
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

// want receives one message and checks its id and error code.
func (s *stdioSession) want(id string, code int64) stdioMessage {
	s.t.Helper()
	m := s.recv()
	if string(m.ID) != id || m.code() != code {
		s.t.Fatalf("got id %s code %d (%+v), want id %s code %d", m.ID, m.code(), m.Error, id, code)
	}
	return m
}

// silent checks that no other message arrives before the answer to a ping.
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

// end closes the input and returns the error of Run.
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
