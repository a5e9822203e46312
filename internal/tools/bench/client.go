package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// proc is a server or a floor that runs as a process with pipes.
type proc struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	begun time.Time
	next  int
}

// serve starts a knack that serves a tree, and returns once it has answered the handshake.
func (b *bench) serve(knack string, t *tree, flags ...string) (*proc, error) {
	p, err := start(b.ctx, t.home, append([]string{knack, "serve"}, flags...)...)
	if err != nil {
		return nil, err
	}
	if err = p.initialize(); err != nil {
		p.end()
	}
	return p, err
}

// start starts a program in a home folder. The environment has only HOME and PATH.
func start(ctx context.Context, home string, argv ...string) (*proc, error) {
	p := &proc{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	p.cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	p.cmd.Dir = home
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	// Fd makes the file blocking, so the client waits for an answer in read. Through Go's poller it
	// would sleep in another system call, and be slower than the measured program.
	out.(*os.File).Fd()
	p.out = bufio.NewReaderSize(out, 4<<20) // more than the longest line
	p.begun = time.Now()
	return p, p.cmd.Start()
}

// end closes the input of the process, or interrupts a process without input, and waits for its
// end.
func (p *proc) end() {
	if p.in != nil {
		p.in.Close()
	} else {
		_ = p.cmd.Process.Signal(os.Interrupt)
	}
	late := time.AfterFunc(15*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	_ = p.cmd.Wait()
}

// answer returns the next line that is not a notification. The line is valid until the next call.
func (p *proc) answer() ([]byte, error) {
	line, err := p.out.ReadSlice('\n')
	for err == nil && bytes.HasPrefix(line, []byte(`{"jsonrpc":"2.0","method"`)) {
		line, err = p.out.ReadSlice('\n')
	}
	return line, err
}

// call sends a request and decodes the result into into, unless it is nil.
func (p *proc) call(method string, params, into any) error {
	p.next++
	if _, err := p.in.Write(append(message(p.next, method, params), '\n')); err != nil {
		return err
	}
	line, err := p.answer()
	var a struct{ Result, Error json.RawMessage }
	if err == nil {
		err = json.Unmarshal(line, &a)
	}
	if err != nil || a.Error != nil {
		return fmt.Errorf("%s: %s %w", method, a.Error, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(a.Result, into)
}

func message(id int, method string, params any) []byte {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err) // cannot happen: only strings and maps
	}
	return b
}

func hello() map[string]any {
	return map[string]any{"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}}
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// initialize does the handshake of MCP.
func (p *proc) initialize() error {
	err := p.call("initialize", hello(), nil)
	if err == nil {
		_, err = io.WriteString(p.in, initialized+"\n")
	}
	return err
}

// processor returns the processor time of the process in milliseconds.
func (p *proc) processor() (total float64) {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	for _, file := range threads {
		data, _ := os.ReadFile(file)
		var ns float64
		_, _ = fmt.Sscan(string(data), &ns)
		total += ns / 1e6
	}
	return total
}

// memory returns a figure of /proc/PID/status in MB. VmHWM is the peak resident memory of the
// process, and RssAnon its current memory without the pages of files.
func (p *proc) memory(figure string) float64 {
	kb, _ := strconv.Atoi(part(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid), figure+":", "kB"))
	return float64(kb) / 1024
}

// pipe sends requests, window of them together, and reads their answers before it sends the next
// ones. It returns the microseconds that each window took.
func (p *proc) pipe(requests [][]byte, window int) ([]float64, error) {
	took := make([]float64, 0, len(requests)/window)
	for i := 0; i+window <= len(requests); i += window {
		batch := append(bytes.Join(requests[i:i+window], []byte("\n")), '\n')
		begun := time.Now()
		if _, err := p.in.Write(batch); err != nil {
			return nil, err
		}
		for range window {
			if _, err := p.answer(); err != nil {
				return nil, err
			}
		}
		took = append(took, µs(time.Since(begun)))
	}
	return took, nil
}

// served is a server or a floor that listens on an address.
type served struct {
	*proc
	addr, session string
}

// serveHTTP starts a knack over HTTP, and opens a session of the older protocol version.
func (b *bench) serveHTTP(knack string, t *tree) (*served, error) {
	p := &proc{cmd: exec.CommandContext(b.ctx, knack, "serve", "--http", "127.0.0.1:0"), begun: time.Now()}
	p.cmd.Env, p.cmd.Dir = []string{"HOME=" + t.home}, t.home
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	in, text := bufio.NewReader(said), ""
	for !strings.Contains(text, "/mcp") {
		if text, err = in.ReadString('\n'); err != nil {
			return nil, fmt.Errorf("knack serve --http said %q: %w", text, err)
		}
	}
	go func() { _, _ = io.Copy(io.Discard, in) }() // otherwise a full pipe would block the server
	_, rest, _ := strings.Cut(text, "http://")
	s := &served{proc: p}
	s.addr, _, _ = strings.Cut(rest, "/mcp")
	header, body, err := fetchOnce(s.addr, httpCall(s.addr, nil, message(1, "initialize", hello())))
	if err == nil {
		if s.session = header.Get("Mcp-Session-Id"); s.session == "" {
			err = fmt.Errorf("no session: %s", body)
		}
	}
	if err == nil {
		_, _, err = fetchOnce(s.addr, httpCall(s.addr, map[string]string{"Mcp-Session-Id": s.session, "Mcp-Protocol-Version": legacy}, []byte(initialized)))
	}
	if err != nil {
		s.end()
	}
	return s, err
}

// httpCall returns the bytes of an HTTP request.
func httpCall(addr string, header map[string]string, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", addr)
	for _, k := range slices.Sorted(maps.Keys(header)) {
		fmt.Fprintf(&b, "%s: %s\r\n", k, header[k])
	}
	fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
	return b.Bytes()
}

// load sends lists of requests, each list over its own connection and one request at a time. It
// returns the microseconds of the whole and of each request.
func load(addr string, requests [][][]byte) (all float64, each []float64, err error) {
	conns := make([]net.Conn, len(requests))
	for i := range conns {
		if conns[i], err = net.Dial("tcp", addr); err != nil {
			return 0, nil, err
		}
		defer conns[i].Close()
	}
	n := len(requests[0])
	each = make([]float64, n*len(conns))
	errs := make([]error, len(conns))
	var wg sync.WaitGroup
	begun := time.Now()
	for i, c := range conns {
		wg.Go(func() {
			in := bufio.NewReaderSize(c, 64<<10)
			for j := 0; j < n && errs[i] == nil; j++ {
				at := time.Now()
				_, errs[i] = send(c, in, requests[i][j], io.Discard)
				each[i*n+j] = µs(time.Since(at))
			}
		})
	}
	wg.Wait()
	return µs(time.Since(begun)), each, errors.Join(errs...)
}

// send sends a request and reads the response.
func send(c net.Conn, in *bufio.Reader, request []byte, body io.Writer) (http.Header, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if _, err = io.Copy(body, resp.Body); err == nil && resp.StatusCode >= 300 {
		err = fmt.Errorf("status %s", resp.Status)
	}
	return resp.Header, err
}

// fetchOnce sends a request on a new connection.
func fetchOnce(addr string, request []byte) (http.Header, []byte, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	var body bytes.Buffer
	header, err := send(c, bufio.NewReader(c), request, &body)
	return header, body.Bytes(), err
}
