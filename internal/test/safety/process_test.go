//go:build linux

package safety

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// patience bounds the wait for events that have no promised time. A promised time has a case with
// its own bound. With a mutated binary the wait is shorter.
func (r *trial) patience() time.Duration {
	if r.says != nil {
		return 4 * time.Second
	}
	return time.Minute
}

// setting configures one run of knack.
type setting struct {
	env    []string
	home   string // "" stands for a fresh one
	nobody bool   // runs as the user nobody
	files  int    // the limit on open files; 0 leaves the system's
	stdin  io.Reader
}

// command prepares a run in a fresh home and without the caller's environment, so that no answer
// contains anything of this machine.
func (r *trial) command(s setting, args ...string) *exec.Cmd {
	r.Helper()
	if s.home == "" {
		s.home = r.dir()
	}
	name := r.knackBinary()
	if s.files > 0 {
		// Descriptors that the test inherited must not reach knack.
		args = append([]string{"-c", fmt.Sprintf(`ulimit -n %d; exec "$0" "$@" 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-`, s.files), name}, args...)
		name = "/bin/sh"
	}
	cmd := exec.Command(name, args...)
	cmd.Dir = s.home
	cmd.Env = append([]string{"HOME=" + s.home, "PATH=/usr/bin:/bin"}, s.env...)
	cmd.Stdin = s.stdin
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if s.nobody {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return cmd
}

// dir returns a new folder that all users may read.
func (r *trial) dir() string {
	r.Helper()
	dir := r.TempDir()
	for at := dir; at != "/" && at != os.TempDir(); at = filepath.Dir(at) {
		r.must(os.Chmod(at, 0o755))
	}
	real, err := filepath.EvalSymlinks(dir)
	r.must(err)
	return real
}

// ran is the result of a command.
type ran struct {
	status      int // -1 means that a signal ended it, or that it did not end in time
	out, errout string
	took        time.Duration
}

func (o ran) all() string { return o.out + "\n" + o.errout }

// run runs a command and waits until it ends. It kills the command after the patience.
func (r *trial) run(s setting, args ...string) ran {
	r.Helper()
	cmd := r.command(s, args...)
	var out, errout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errout
	begin := time.Now()
	r.must(cmd.Start())
	timer := time.AfterFunc(r.patience(), func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	_ = cmd.Wait()
	return ran{cmd.ProcessState.ExitCode(), out.String(), errout.String(), time.Since(begin)}
}

// knack is a running server.
type knack struct {
	r     *trial
	cmd   *exec.Cmd
	in    io.WriteCloser
	ended chan struct{} // closed once the process is gone
	url   string        // the URL of MCP over HTTP

	write sync.Mutex
	mu    sync.Mutex
	next  int
	wait  map[int]chan []byte
	log   bytes.Buffer
	heard chan struct{} // closed when the log has its first line
	other bytes.Buffer  // lines on stdout that are not answers
	heaps chan string   // the server's reports about its heap
}

// start runs a server over stdio, or over HTTP if the arguments select HTTP.
func (r *trial) start(s setting, args ...string) *knack {
	r.Helper()
	k := &knack{r: r, cmd: r.command(s, append([]string{"serve"}, args...)...), ended: make(chan struct{}), wait: map[int]chan []byte{}, heard: make(chan struct{}), heaps: make(chan string, 1)}
	in, err := k.cmd.StdinPipe()
	r.must(err)
	out, err := k.cmd.StdoutPipe()
	r.must(err)
	errout, err := k.cmd.StderrPipe()
	r.must(err)
	k.in = in
	r.must(k.cmd.Start())
	var readers sync.WaitGroup
	readers.Go(func() { k.hear(errout) })
	readers.Go(func() { k.listen(out) })
	go func() {
		readers.Wait()
		_ = k.cmd.Wait()
		close(k.ended)
	}()
	r.Cleanup(k.kill)
	return k
}

func (k *knack) kill() {
	_ = k.cmd.Process.Kill()
	<-k.ended
}

// hear collects the server's log, up to a size, and takes out the reports about the heap.
func (k *knack) hear(from io.Reader) {
	lines := bufio.NewReader(from)
	for first := true; ; {
		line, err := lines.ReadString('\n')
		if strings.HasPrefix(line, "safety: ") { // from tellsHeap, not from knack
			k.heaps <- line
			continue
		}
		k.mu.Lock()
		if k.log.Len() < 16<<20 {
			k.log.WriteString(line)
		}
		k.mu.Unlock()
		if first && line != "" {
			first = false
			close(k.heard)
		}
		if err != nil {
			return
		}
	}
}

func (k *knack) said() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.log.String() + k.other.String()
}

// listen delivers each answer to the call that waits for it.
func (k *knack) listen(from io.Reader) {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     *int
			Method string
		}
		bad := json.Unmarshal(line, &m)
		k.mu.Lock()
		var to chan []byte
		if bad == nil && m.Method == "" && m.ID != nil {
			to = k.wait[*m.ID]
			delete(k.wait, *m.ID)
		}
		if to == nil && k.other.Len() < 16<<20 {
			k.other.Write(line)
		}
		k.mu.Unlock()
		if to != nil {
			to <- line
		}
	}
}

// alive reports whether the process still runs.
func (k *knack) alive() bool {
	select {
	case <-k.ended:
		return false
	default:
		return true
	}
}

var errNoAnswer = errors.New("no answer")

// send writes a call and returns a channel for the answer.
func (k *knack) send(method string, params any) (chan []byte, error) {
	to := make(chan []byte, 1)
	k.mu.Lock()
	k.next++
	id := k.next
	k.wait[id] = to
	k.mu.Unlock()
	line, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	k.write.Lock()
	defer k.write.Unlock()
	_, err = k.in.Write(append(line, '\n'))
	return to, err
}

// call makes a call and returns the answer, a whole line.
func (k *knack) call(method string, params any) ([]byte, error) {
	return k.answer(k.send(method, params))
}

func (k *knack) answer(to chan []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	select {
	case line := <-to:
		return line, nil
	case <-k.ended:
		return nil, fmt.Errorf("%w: the server has ended: %.2000s", errNoAnswer, k.said())
	case <-time.After(k.r.patience()):
		return nil, fmt.Errorf("%w within %v", errNoAnswer, k.r.patience())
	}
}

// initialize begins a session over stdio and waits for its first list of tools.
func (k *knack) initialize() {
	k.r.Helper()
	_, err := k.call("initialize", map[string]any{
		"protocolVersion": "2025-11-25", "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
	k.r.must(err)
	_, err = io.WriteString(k.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	k.r.must(err)
	_, err = k.call("tools/list", map[string]any{})
	k.r.must(err)
}

// end closes the server's input and returns the exit status, or -2 if the server does not end.
func (k *knack) end() int {
	_ = k.in.Close()
	select {
	case <-k.ended:
		return k.cmd.ProcessState.ExitCode()
	case <-time.After(k.r.patience()):
		return -2
	}
}

// stdio runs a server over stdio and begins a session.
func (r *trial) stdio(s setting, args ...string) *knack {
	r.Helper()
	k := r.start(s, args...)
	k.initialize()
	return k
}

// http runs a server over HTTP on a free port.
func (r *trial) http(s setting, args ...string) *knack {
	r.Helper()
	k := r.start(s, append([]string{"--http", "127.0.0.1:0"}, args...)...)
	testwait.Within(r.patience(), func() bool {
		if _, at, ok := strings.Cut(k.said(), "serves MCP at "); ok && strings.Contains(at, "\n") {
			k.url, _, _ = strings.Cut(at, "\n")
		}
		return k.url != "" || !k.alive()
	})
	if k.url == "" {
		r.Fatalf("no address: %s", k.said())
	}
	return k
}

// pause waits in real time. It waits until the stamps of files are old, during an interval that is
// measured, or between two changes, so that readers get the processor.
func pause(d time.Duration) { time.Sleep(d) }

// tool returns the parameters of a tool call.
func tool(name string, arguments map[string]any) map[string]any {
	return map[string]any{"name": name, "arguments": arguments}
}

// write writes files below a folder.
func (r *trial) write(root string, files map[string]string) {
	r.Helper()
	for name, text := range files {
		at := filepath.Join(root, filepath.FromSlash(name))
		r.must(os.MkdirAll(filepath.Dir(at), 0o755))
		r.must(os.WriteFile(at, []byte(text), 0o644))
	}
}

// skillMD returns a valid SKILL.md.
func skillMD(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\n" + body
}
