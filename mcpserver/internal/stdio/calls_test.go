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

	"github.com/knack-dev/knack/mcpserver/internal/wire"
)

func TestStdioBusy(t *testing.T) {
	t.Parallel()
	server := newStdioTools()
	s := startStdio(t, server, &Transport{MaxInFlight: 3})
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
	s.want("2", -32603) // the error of a cancelled call
	s.silent()
	close(server.open)
	s.recv()
	s.recv()
	s.silent()
	must(t, s.end())
}

func TestStdioDuplicateID(t *testing.T) {
	t.Parallel()
	server := newStdioTools()
	s := startStdio(t, server, &Transport{})
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
	must(t, s.end())
}

func TestStdioListenHoldsNoPlaceAndNoEnd(t *testing.T) {
	s := startStdio(t, newStdioTools(), &Transport{MaxInFlight: 1, DrainTimeout: 2 * stdioPatience})
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
	if err := s.end(); err != nil { // end waits for less time than the drain timeout
		t.Fatal(err)
	}
}

func TestStdioDrainIsBounded(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{-1, 50 * time.Millisecond} {
		server := newStdioTools()
		s := startStdio(t, server, &Transport{DrainTimeout: timeout})
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
}

// TestStdioServerAsksClient checks that the client's answers reach the server, and that no call
// waits for them once the input has ended.
func TestStdioServerAsksClient(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &Transport{DrainTimeout: 2 * stdioPatience})
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
	must(t, s.end())
	if m := <-s.out.messages; string(m.ID) != `"c"` || m.code() != 0 {
		t.Errorf("got %+v", m)
	}
}

// stdioStuck is an output without a reader.
type stdioStuck struct{ begun, free chan struct{} }

func (o stdioStuck) Write(p []byte) (int, error) {
	o.begun <- struct{}{}
	<-o.free
	return len(p), nil
}

// TestStdioClientStopsReading checks that the session of a client that stops reading ends with its
// input, even if answers or refusals wait for the output.
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
				ended <- (&Transport{In: in, Out: out, DrainTimeout: 50 * time.Millisecond}).Serve(context.Background(), newStdioTools().core)
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

// TestStdioAnswersWait checks that calls are refused while too many answers wait for the client,
// and that cancellations are accepted.
func TestStdioAnswersWait(t *testing.T) {
	s := startStdio(t, newStdioTools(), &Transport{})
	s.initialize()
	s.conn.calls.unwritten.Add(2 * maxUnwritten)
	s.send(stdioPing("1"), stdioCancel("1"))
	s.want("1", wire.CodeBusy)
	s.conn.calls.unwritten.Add(-2 * maxUnwritten)
	s.silent()
	must(t, s.end())
}

// stdioStopsAfter is an output that works for n writes, and then writes only half of each message.
type stdioStopsAfter struct{ n int }

func (o *stdioStopsAfter) Write(p []byte) (int, error) {
	if o.n--; o.n < 0 {
		return len(p) / 2, nil
	}
	return len(p), nil
}

func TestStdioBrokenOutEndsRunningCalls(t *testing.T) {
	t.Parallel()
	server := newStdioTools()
	in, client := io.Pipe()
	s := startStdio(t, server, &Transport{In: in, Out: &stdioStopsAfter{n: 1}})
	t.Cleanup(func() { client.Close() })
	io.WriteString(client, stdioInit+"\n"+stdioReady+"\n"+stdioCall("1", "gate")+"\n")
	server.await(t, 1)
	io.WriteString(client, stdioPing("2")+"\n")
	if err := s.wait(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
	client.Close()
}

func TestStdioReadFailureIsReported(t *testing.T) {
	gone := errors.New("gone")
	in := io.MultiReader(strings.NewReader(stdioPing("1")+"\n"), stdioBroken{gone})
	s := startStdio(t, newStdioTools(), &Transport{In: in})
	if err := s.wait(); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
	if n := len(s.out.messages); n != 1 {
		t.Errorf("%d answers of 1", n)
	}
}

func TestStdioServesOnce(t *testing.T) {
	transport := &Transport{In: strings.NewReader(""), Out: io.Discard}
	if err := transport.Serve(t.Context(), newStdioTools().core); err != nil {
		t.Error(err)
	}
	if err := transport.Serve(t.Context(), newStdioTools().core); err == nil {
		t.Error("served twice")
	}
}

// TestStdioEndsWithTheContext checks that a session and its calls end with the context of Serve.
func TestStdioEndsWithTheContext(t *testing.T) {
	base := runtime.NumGoroutine()
	in, client := io.Pipe()
	server := newStdioTools()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- (&Transport{In: in, Out: io.Discard}).Serve(ctx, server.core) }()
	io.WriteString(client, stdioCall("1", "gate")+"\n")
	server.await(t, 1)
	cancel()
	if err := <-ended; err != context.Canceled {
		t.Error(err)
	}
	client.Close()
	noStdioLeak(t, base)
}

func TestStdioManyConcurrentCalls(t *testing.T) {
	t.Parallel()
	n := 1000
	if testing.Short() {
		n = 200
	}
	for _, bound := range []int{n, 0} {
		server := newStdioTools()
		s := startStdio(t, server, &Transport{MaxInFlight: bound})
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
		must(t, s.end())
		if extra := len(s.out.messages); extra != 0 {
			t.Errorf("%d answers too many", extra)
		}
	}
}

// TestStdioPanicInAnAnswer checks that a panic in an answer becomes an error of that call alone.
func TestStdioPanicInAnAnswer(t *testing.T) {
	server := newStdioTools()
	s := startStdio(t, server, &Transport{})
	s.initialize()
	s.send(stdioCall("1", "broken"))
	if m := s.want("1", -32603); m.Error.Message != "internal error" {
		t.Error(m.Error.Message)
	}
	s.send(stdioCall("1", "echo"))
	s.want("1", 0)
	must(t, s.end())
}

// TestStdioLargeAnswerIsOneLine checks that no other message is written between the pieces of a
// large answer.
func TestStdioLargeAnswerIsOneLine(t *testing.T) {
	large := strings.Repeat("0123456789", 100_000)
	in, client := io.Pipe()
	from, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- (&Transport{In: in, Out: out, DrainTimeout: time.Hour}).Serve(context.Background(), newStdioTools().core)
	}()
	go func() {
		for i := range 20 {
			fmt.Fprintf(client, `{"jsonrpc":"2.0","id":%d,"method":"large"}`+"\n"+stdioPing(fmt.Sprintf(`"%d"`, i))+"\n", i)
		}
		client.Close()
	}()
	lines := bufio.NewReader(from)
	for range 40 {
		line, err := lines.ReadBytes('\n')
		must(t, err)
		m, err := parseStdioOutput(line)
		if err != nil || len(m.Result) > 100 && !strings.Contains(string(m.Result), large) {
			t.Fatalf("%v: %.100q", err, line)
		}
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
