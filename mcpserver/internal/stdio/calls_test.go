package stdio

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/knack-dev/knack/internal/test/testwait"
	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

func TestStdioBusy(t *testing.T) {
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		server := newServer()
		s := startStdio(t, server, &Options{MaxInFlight: 3})
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
		s.want("2", -32603) // the tool reports its cancellation
		s.silent()
		close(server.open)
		s.recv()
		s.recv()
		s.silent()
		if err := s.end(); err != nil {
			t.Fatal(err)
		}
	})
}

// A place is free again by the time the client can see the answer.
func TestStdioPlaceAndIDAreFreeWithTheAnswer(t *testing.T) {
	s := startStdio(t, newStdioTools(), &Options{MaxInFlight: 1})
	for range 1000 {
		s.send(stdioPing("1"))
		s.want("1", 0)
	}
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

func TestStdioDuplicateID(t *testing.T) {
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		server := newServer()
		s := startStdio(t, server, &Options{})
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
	})
}

func TestStdioListenHoldsNoPlaceAndNoEnd(t *testing.T) {
	s := startStdio(t, newStdioTools(), &Options{MaxInFlight: 1, Drain: 2 * stdioPatience})
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
	if err := s.end(); err != nil { // which waits for less than the drain
		t.Fatal(err)
	}
}

func TestStdioDrainsSlowCalls(t *testing.T) {
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		server := newServer()
		s := startStdio(t, server, &Options{Drain: stdioPatience})
		s.initialize()
		s.send(stdioCall("1", "gate"), stdioCall("2", "gate"))
		server.await(t, 2)
		s.in.Close()
		time.Sleep(20 * time.Millisecond) // the server reads the end of its input meanwhile
		close(server.open)
		if err := s.wait(); err != nil {
			t.Fatal(err)
		}
		if n := len(s.out.messages); n != 2 {
			t.Errorf("%d answers of 2", n)
		}
	})
}

func TestStdioDrainIsBounded(t *testing.T) {
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		for _, timeout := range []time.Duration{-1, 50 * time.Millisecond} {
			server := newServer()
			s := startStdio(t, server, &Options{Drain: timeout})
			s.initialize()
			s.send(stdioCall("1", "gate"))
			server.await(t, 1)
			if err := s.end(); !errors.Is(err, ErrUnanswered) {
				t.Fatal(err)
			}
			if n := len(s.out.messages); n != 0 {
				t.Errorf("%v: %d answers after the session", timeout, n)
			}
		}
	})
}

// The client's answers reach the server. No call waits for them once the input has ended.
func TestStdioServerAsksClient(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &Options{Drain: 2 * stdioPatience})
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
		s := startStdio(t, server, &Options{In: strings.NewReader(input), Drain: 2 * stdioPatience})
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
	if testing.Short() {
		t.Skip("waits for the whole drain")
	}
	t.Parallel()
	server := newStdioTools()
	// An answer is here before its call is counted as answered, so that the end waits a little.
	s := startStdio(t, server, &Options{MaxInFlight: 1, Drain: 2 * time.Second})
	s.initialize()
	s.send(stdioCall("1", "garbled"))
	s.want("1", 1) // without its data
	// The SDK never answers this one. Once the client gives up, it holds no place.
	s.send(stdioCall("2", "unspeakable"), stdioPing("3"))
	s.want("3", -32000)
	server.await(t, 1)
	s.send(stdioCancel("2"))
	testwait.Until(t, func() bool {
		s.send(stdioPing(`"silent"`))
		m := s.recv()
		if string(m.ID) != `"silent"` || m.code() != 0 && m.code() != -32000 {
			t.Fatalf("%s %+v", m.ID, m.Error)
		}
		return m.code() == 0
	}, "a call that the client gave up holds its place")
	s.send(stdioPing("2"))
	s.want("null", -32600)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// stdioStuck is an output without a reader.
type stdioStuck struct{ begun, free chan struct{} }

func (o stdioStuck) Write(p []byte) (int, error) {
	o.begun <- struct{}{}
	<-o.free
	return len(p), nil
}

// The session of a client that stops reading ends with its input, whatever waits for the
// output: an answer, answers behind it, a refusal.
func TestStdioClientStopsReading(t *testing.T) {
	for name, lines := range map[string][]string{
		"one answer":   {stdioPing("1")},
		"many answers": {stdioPing("1"), stdioPing("2"), stdioCall("3", "echo"), stdioCall("4", "echo")},
		"a refusal":    {"oops", "oops"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, client := io.Pipe()
			out := stdioStuck{make(chan struct{}, 8), make(chan struct{})}
			t.Cleanup(func() { close(out.free); client.Close() })
			ended := make(chan error, 1)
			go func() {
				ended <- newStdioTools().Run(context.Background(), New(Options{In: in, Out: out, Drain: 50 * time.Millisecond}.defaults()))
			}()
			go func() {
				io.WriteString(client, stdioInit+"\n"+stdioReady+"\n"+strings.Join(lines, "\n")+"\n")
				client.Close()
			}()
			<-out.begun
			select {
			case err := <-ended:
				if !errors.Is(err, ErrUnanswered) {
					t.Errorf("got %v", err)
				}
			case <-time.After(stdioPatience):
				t.Error("the session does not end")
			}
		})
	}
}

// While too much waits to be read, calls are refused; cancellations pass.
func TestStdioAnswersWait(t *testing.T) {
	s := startStdio(t, newStdioTools(), &Options{})
	s.initialize()
	s.conn.calls.unwritten.Add(2 * maxUnwritten)
	s.send(stdioPing("1"), stdioCancel("1"))
	s.want("1", wire.CodeBusy)
	s.conn.calls.unwritten.Add(-2 * maxUnwritten)
	s.silent()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// A call that was given up and answers after all is not counted twice.
func TestStdioLedgerLateAnswer(t *testing.T) {
	l := newLedger(1, -1)
	call := func(key string) *wire.Refusal { return l.admit(key, "x", "", &inFlight{}) }
	if call("1") != nil || call("2") == nil {
		t.Fatal("the bound does not hold")
	}
	l.cancelled("1")
	if no := call("2"); no != nil {
		t.Fatal(no.Error.Message)
	}
	if l.answering("1") {
		t.Error("the answer is owed twice")
	}
	if call("3") == nil {
		t.Error("the place was freed twice")
	}
	if !l.answering("2") || l.owing() != 1 {
		t.Errorf("%d owed", l.owing())
	}
	l.answered()
	if l.owing() != 0 || len(l.calls) != 0 || l.placesTaken != 0 {
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
			s := startStdio(t, newStdioTools(), &Options{In: in, Out: stdioBroken{tt.err}})
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
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		server := newServer()
		in, client := io.Pipe()
		s := startStdio(t, server, &Options{In: in, Out: &stdioStopsAfter{n: 1}})
		t.Cleanup(func() { client.Close() })
		io.WriteString(client, stdioInit+"\n"+stdioReady+"\n"+stdioCall("1", "gate")+"\n")
		server.await(t, 1)
		io.WriteString(client, stdioPing("2")+"\n")
		if err := s.wait(); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("got %v", err)
		}
		client.Close()
	})
}

// The wait for answers ends when none can be written any more.
func TestStdioBrokenOutEndsDrain(t *testing.T) {
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		input := strings.Join([]string{stdioInit, stdioReady, stdioCall("1", "gate"), stdioCall("2", "nap")}, "\n")
		s := startStdio(t, newServer(), &Options{
			In: strings.NewReader(input), Out: &stdioStopsAfter{n: 1}, Drain: 2 * stdioPatience,
		})
		if err := s.wait(); !errors.Is(err, io.ErrShortWrite) {
			t.Errorf("got %v", err)
		}
	})
}

func TestStdioBatchIsNamed(t *testing.T) {
	_, no := wire.Parse([]byte(` [] `))
	if no == nil || !strings.Contains(no.Error.Message, "batches are not supported") {
		t.Errorf("got %+v", no)
	}
}

func TestStdioReadFailureIsReported(t *testing.T) {
	gone := errors.New("gone")
	in := io.MultiReader(strings.NewReader(stdioPing("1")+"\n"), stdioBroken{gone})
	s := startStdio(t, newStdioTools(), &Options{In: in})
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
	transport := New(Options{In: in, Out: io.Discard}.defaults())
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
	t.Parallel()
	eachDoor(t, func(t *testing.T, newServer func() *stdioTools) {
		n := 1000
		if testing.Short() {
			n = 200
		}
		for _, bound := range []int{n, 0} {
			server := newServer()
			s := startStdio(t, server, &Options{MaxInFlight: bound})
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
	})
}

// A panic in an answer is that call's error, and no more.
func TestStdioPanicInAnAnswer(t *testing.T) {
	server := newStdioTools()
	server.core = true
	s := startStdio(t, server, &Options{})
	s.initialize()
	s.send(stdioCall("1", "broken"))
	if m := s.want("1", -32603); m.Error.Message != "internal error" {
		t.Error(m.Error.Message)
	}
	s.send(stdioCall("1", "echo"))
	s.want("1", 0)
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}

// A large answer is written in pieces, and nothing comes between them.
func TestStdioLargeAnswerIsOneLine(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	in, client := io.Pipe()
	from, out := io.Pipe()
	o := Options{In: in, Out: out, Drain: time.Hour, Core: func(c wire.Call) (wire.Work, bool) {
		return work(func(context.Context) wire.Answer { return wire.Answer{ID: c.ID, Result: said(large)} }), c.Method == "large"
	}}
	ended := make(chan error, 1)
	go func() { ended <- newStdioTools().Run(context.Background(), New(o.defaults())) }()
	go func() {
		for i := range 20 {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"large"}`+"\n"+stdioPing(fmt.Sprintf(`"%d"`, i))+"\n", i)
		}
		client.Close()
	}()
	lines := bufio.NewReader(from)
	for range 40 {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			t.Fatal(err)
		}
		m, err := parseStdioOutput(line)
		if err != nil || len(m.Result) > 100 && !strings.Contains(string(m.Result), large) {
			t.Fatalf("%v: %.100q", err, line)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// Calls that come behind a handshake are answered behind it.
func TestStdioAnswersBehindTheHandshake(t *testing.T) {
	server := newStdioTools()
	server.core = true
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			res, err := next(ctx, method, req)
			if method == "initialize" {
				<-server.open
			}
			return res, err
		}
	})
	s := startStdio(t, server, &Options{})
	s.send(stdioInit)
	for initialized := false; !initialized; { // the SDK knows the parameters before it answers
		for ss := range server.Sessions() {
			initialized = initialized || ss.InitializeParams() != nil
		}
	}
	s.send(stdioCall("1", "echo"), stdioCall("2", "echo"))
	close(server.open)
	s.want(`"init"`, 0)
	s.recv()
	s.recv()
	if err := s.end(); err != nil {
		t.Fatal(err)
	}
}
