package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
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

// proc is a server that is measured: a process with pipes.
type proc struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	begun time.Time
	next  int
}

// serve starts the binary over a tree, up to its first answer.
func (b *bench) serve(t *tree) (*proc, error) {
	p, err := start(t.home, b.knack, "serve")
	if err != nil {
		return nil, err
	}
	if _, err := p.initialize(); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

// start starts a program with a home folder of its own and an environment that
// holds nothing else.
func start(home string, argv ...string) (*proc, error) {
	p := &proc{cmd: exec.Command(argv[0], argv[1:]...)}
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
	// It waits for an answer in the read. Through Go's poller it would sleep in another
	// call of the system when the answer comes a microsecond later than that spins, and
	// then be slower than what is measured.
	out.(*os.File).Fd()
	p.out = bufio.NewReaderSize(out, 1<<20)
	p.begun = time.Now()
	return p, p.cmd.Start()
}

// end closes the input and waits.
func (p *proc) end() {
	p.in.Close()
	ended := make(chan struct{})
	go func() { _ = p.cmd.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(15 * time.Second):
		_ = p.cmd.Process.Kill()
		<-ended
	}
}

// line returns the next line, its end included. It is valid until the next call.
func (p *proc) line() ([]byte, error) {
	line, err := p.out.ReadSlice('\n')
	if err != bufio.ErrBufferFull {
		return line, err
	}
	rest, err := p.out.ReadBytes('\n')
	return append(bytes.Clone(line), rest...), err
}

type answer struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// call asks and waits for the answer, past notifications.
func (p *proc) call(method string, params any) (json.RawMessage, error) {
	p.next++
	id := strconv.Itoa(p.next)
	if _, err := p.in.Write(append(message(p.next, method, params), '\n')); err != nil {
		return nil, err
	}
	for {
		line, err := p.line()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", method, err)
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return nil, err
		}
		switch {
		case string(a.ID) != id:
		case a.Error != nil:
			return nil, fmt.Errorf("%s: %d %s", method, a.Error.Code, a.Error.Message)
		default:
			return a.Result, nil
		}
	}
}

func (p *proc) notify(method string) error {
	_, err := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","method":%q}`+"\n", method)
	return err
}

func message(id int, method string, params any) []byte {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		panic(err) // made of strings and maps
	}
	return b
}

func hello() map[string]any {
	return map[string]any{"protocolVersion": legacy, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "bench", "version": "1"}}
}

// initialize shakes hands and returns how long after its start the process did.
func (p *proc) initialize() (time.Duration, error) {
	_, err := p.call("initialize", hello())
	took := time.Since(p.begun)
	if err == nil {
		err = p.notify("notifications/initialized")
	}
	return took, err
}

// peak is the most memory the process had resident, in MB.
func (p *proc) peak() float64 {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(data), "VmHWM:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return float64(kb) / 1024
}

// calls are requests as they go over the wire, one after the other.
type calls struct {
	requests [][]byte // with their ids
	answers  [][]byte // the very bytes that came back, in the same order
}

// pipe sends the requests, window of them at a time, reads as many answers, and
// returns how long each window took. keep holds the answers for a floor.
func (p *proc) pipe(c *calls, n, window int, keep bool) ([]time.Duration, error) {
	took := make([]time.Duration, 0, n/window)
	var batch []byte
	for i := 0; i < n; i += window {
		batch = batch[:0]
		for k := range window {
			batch = append(append(batch, c.requests[(i+k)%len(c.requests)]...), '\n')
		}
		begun := time.Now()
		if _, err := p.in.Write(batch); err != nil {
			return nil, err
		}
		for range window {
			line, err := p.line()
			if err != nil {
				return nil, err
			}
			if keep {
				c.answers = append(c.answers, bytes.Clone(line))
			}
		}
		took = append(took, time.Since(begun))
	}
	return took, nil
}

// httpCall is one request over HTTP, ready to be written.
func httpCall(addr string, header map[string]string, index int, body []byte) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n", addr)
	for _, k := range sortedKeys(header) {
		fmt.Fprintf(&b, "%s: %s\r\n", k, header[k])
	}
	fmt.Fprintf(&b, "X-Index: %d\r\nContent-Length: %d\r\n\r\n%s", index, len(body), body)
	return b.Bytes()
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// load sends n requests over each of so many connections, one at a time on each,
// and returns how long all took and each one. Each connection has requests of its
// own, since in a session two calls may not have one id at once.
func load(addr string, requests [][][]byte, n int) (time.Duration, []time.Duration, error) {
	took := make([][]time.Duration, len(requests))
	errs := make([]error, len(requests))
	conns := make([]net.Conn, len(requests))
	for i := range conns {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return 0, nil, err
		}
		defer c.Close()
		conns[i] = c
	}
	begun := time.Now()
	var wg sync.WaitGroup
	for i, c := range conns {
		wg.Go(func() {
			in := bufio.NewReaderSize(c, 64<<10)
			took[i] = make([]time.Duration, 0, n)
			for k := range n {
				at := time.Now()
				if _, err := c.Write(requests[i][(i*7+k)%len(requests[i])]); err != nil {
					errs[i] = err
					return
				}
				if _, err := receive(in, nil); err != nil {
					errs[i] = err
					return
				}
				took[i] = append(took[i], time.Since(at))
			}
		})
	}
	wg.Wait()
	all := time.Since(begun)
	for _, err := range errs {
		if err != nil {
			return 0, nil, err
		}
	}
	return all, slices.Concat(took...), nil
}

// receive reads one response; its body goes to keep, if there is one.
func receive(in *bufio.Reader, keep *bytes.Buffer) (*http.Response, error) {
	resp, err := http.ReadResponse(in, nil)
	if err != nil {
		return nil, err
	}
	var to io.Writer = io.Discard
	if keep != nil {
		to = keep
	}
	if _, err := io.Copy(to, resp.Body); err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, fmt.Errorf("status %s", resp.Status)
	}
	return resp, resp.Body.Close()
}

// once sends one request on a connection of its own.
func once(addr string, request []byte) (*http.Response, []byte, error) {
	c, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	if _, err := c.Write(request); err != nil {
		return nil, nil, err
	}
	var body bytes.Buffer
	resp, err := receive(bufio.NewReader(c), &body)
	return resp, body.Bytes(), err
}
