package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strconv"
	"testing"

	"github.com/knack-dev/knack/internal/alloctest"
	"github.com/knack-dev/knack/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// asked again is a request whose answer is kept, over wires on which the client
// makes nothing of its own.
type askedAgain func()

const pipeHello = `{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n" +
	`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// session runs a session over real pipes, until end is called.
func session(t testing.TB, run func(context.Context, mcp.Transport) error) (to, from *os.File, end func()) {
	t.Helper()
	in, to, err := os.Pipe()
	must(t, err)
	from, out, err := os.Pipe()
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- run(context.Background(), &mcpserver.StdioTransport{In: in, Out: out}) }()
	return to, from, func() {
		t.Helper()
		to.Close()
		must(t, <-ended)
		out.Close()
		from.Close()
	}
}

// overPipes opens a session over real pipes and returns what sends n calls of the
// tool skill at once and reads as many answers.
func overPipes(t testing.TB, s *mcpserver.Server, n int) askedAgain {
	t.Helper()
	to, from, end := session(t, s.Run)
	t.Cleanup(end)
	answers := bufio.NewReaderSize(from, 256<<10)
	say := func(lines []byte, n int) {
		if _, err := to.Write(lines); err != nil {
			t.Fatal(err)
		}
		for range n {
			if _, err := answers.ReadSlice('\n'); err != nil {
				t.Fatal(err)
			}
		}
	}
	say([]byte(pipeHello), 1)
	var lines []byte
	for i := range n {
		lines = fmt.Appendf(lines, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"skill","arguments":{"name":"a-first"}}}`+"\n", i)
	}
	for range 2 { // the calls of one window are all on their way before one is answered
		say(lines, n)
	}
	return func() { say(lines, n) }
}

// overHTTP opens a connection and returns what sends one request and reads its answer.
func overHTTP(t testing.TB, addr string, r *http.Request) askedAgain {
	t.Helper()
	r.Host = addr
	request, err := httputil.DumpRequestOut(r, true)
	must(t, err)
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	answers := bufio.NewReaderSize(conn, 256<<10)
	size := 0
	for range 3 {
		_, err = conn.Write(request)
		must(t, err)
		var got bytes.Buffer
		resp, err := http.ReadResponse(bufio.NewReader(io.TeeReader(answers, &got)), nil)
		must(t, err)
		body, err := io.ReadAll(resp.Body)
		must(t, err)
		if resp.StatusCode != http.StatusOK || bytes.Contains(body, []byte(`"error":{`)) {
			t.Fatalf("%s %s", resp.Status, body)
		}
		size = got.Len()
	}
	buf := make([]byte, size)
	return func() {
		if _, err := conn.Write(request); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(answers, buf); err != nil {
			t.Fatal(err)
		}
	}
}

// bare is the least handler that reads a request and writes an answer of the size.
func bare(t testing.TB, size int) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	answer := bytes.Repeat([]byte("x"), size)
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", strconv.Itoa(size))
		_, _ = w.Write(answer)
	})}
	go func() { _ = s.Serve(ln) }()
	t.Cleanup(func() { s.Close() })
	return ln.Addr().String()
}

// hits are the requests whose costs are known.
var hits = []struct{ era, method, params string }{
	{modern, "skills/get", `{"uri":"skill://a-first/SKILL.md"}`},
	{modern, "resources/read", `{"uri":"skill://a-first/SKILL.md"}`},
	{modern, "tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`},
	{legacy, "skills/get", `{"uri":"skill://a-first/SKILL.md"}`},
	{legacy, "resources/read", `{"uri":"skill://a-first/SKILL.md"}`},
	{legacy, "tools/call", `{"name":"skill","arguments":{"name":"a-first"}}`},
}

// again is a server with files that are old enough.
func again(t testing.TB) *site {
	t.Helper()
	w := start(t, setting{})
	grow(t, w)
	return w
}

// allAgain runs f and insists that n answers came from memory for each time.
func allAgain(t testing.TB, s *mcpserver.Server, f func() (n uint64)) {
	t.Helper()
	before := s.Recalled()
	want := f()
	if n := s.Recalled() - before; n != want {
		t.Errorf("%d of %d answers were given again", n, want)
	}
}

func BenchmarkAgainStdio(b *testing.B) {
	w := again(b)
	for _, n := range []int{1, 32} {
		ask := overPipes(b, w.server, n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			allAgain(b, w.server, func() (all uint64) {
				for b.Loop() {
					ask()
					all += uint64(n)
				}
				return all
			})
		})
	}
}

func BenchmarkAgainHTTP(b *testing.B) {
	w := again(b)
	for _, hit := range hits {
		c := w.dial(hit.era)
		ask := overHTTP(b, w.addr, c.request(http.MethodPost, c.bodyOf("7", hit.method, hit.params)))
		b.Run(hit.era+"/"+hit.method, func(b *testing.B) {
			b.ReportAllocs()
			allAgain(b, w.server, func() (n uint64) {
				for b.Loop() {
					ask()
					n++
				}
				return n
			})
		})
	}
	c := w.dial(modern)
	ask := overHTTP(b, bare(b, 2000), c.request(http.MethodPost, c.bodyOf("7", hits[0].method, hits[0].params)))
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask()
		}
	})
}

// An answer that is given again takes nothing of the heap over pipes, and over HTTP
// no more than the least handler of the same request.
func TestAnswersAgainAllocateNothing(t *testing.T) {
	if raced {
		t.Skip("the race detector has sync.Pool lose things")
	}
	const rounds = 200
	w := again(t)
	measure := func(ask askedAgain, each uint64) (allocs float64) {
		allAgain(t, w.server, func() uint64 {
			allocs = alloctest.Least(rounds, ask)
			return alloctest.Times * each * (rounds + 1)
		})
		return allocs
	}
	for _, n := range []int{1, 32} {
		if got := measure(overPipes(t, w.server, n), uint64(n)); got > 0 {
			t.Errorf("%d calls over pipes: %v allocations", n, got)
		}
	}
	for _, hit := range hits {
		c := w.dial(hit.era)
		request := func() *http.Request {
			return c.request(http.MethodPost, c.bodyOf("7", hit.method, hit.params))
		}
		least := alloctest.Least(rounds, overHTTP(t, bare(t, 2000), request()))
		// net/http makes one thing more or less of a request, as the read that it
		// keeps open between two requests comes before the next or after.
		most := least + 1
		if got := measure(overHTTP(t, w.addr, request()), 1); got > most {
			t.Errorf("%s %s: %v allocations; the least handler has %v", hit.era, hit.method, got, least)
		}
	}
}
