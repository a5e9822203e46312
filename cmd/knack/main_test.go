package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// asKnack is the environment variable that makes the test binary run as knack, in a process of its
// own that -race instruments too.
const asKnack = "KNACK_TEST_AS_KNACK"

const patience = 30 * time.Second // how long a test waits for an expected event

func TestMain(m *testing.M) {
	if os.Getenv(asKnack) != "" {
		main() // exits
	}
	os.Exit(m.Run())
}

// process is a running knack and the client's ends of its pipes.
type process struct {
	t      testing.TB
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	outEnd io.Closer
	errEnd io.Closer
	mu     sync.Mutex
	log    strings.Builder
	ended  chan error
}

// start runs knack with a fresh home, and ends it with the test.
func start(t testing.TB, args ...string) *process {
	t.Helper()
	home := t.TempDir()
	p := &process{t: t, cmd: exec.Command(os.Args[0], args...), ended: make(chan error, 1)}
	p.cmd.Env = append(os.Environ(), asKnack+"=1", "HOME="+home, "USERPROFILE="+home, "KNACK_DIRS=")
	p.cmd.Dir = home
	in, inClient, err := os.Pipe()
	must(t, err)
	outClient, out, err := os.Pipe()
	must(t, err)
	errClient, stderr, err := os.Pipe()
	must(t, err)
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = in, out, stderr
	p.in, p.out, p.outEnd, p.errEnd = inClient, bufio.NewReaderSize(outClient, 1<<20), outClient, errClient
	must(t, p.cmd.Start())
	in.Close()
	out.Close()
	stderr.Close()
	go func() {
		lines := bufio.NewScanner(errClient)
		for lines.Scan() {
			p.mu.Lock()
			fmt.Fprintln(&p.log, lines.Text())
			p.mu.Unlock()
		}
	}()
	go func() { p.ended <- p.cmd.Wait() }()
	t.Cleanup(func() {
		inClient.Close()
		outClient.Close()
		errClient.Close()
		p.cmd.Process.Kill()
	})
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (p *process) said() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) send(line string) {
	p.t.Helper()
	_, err := io.WriteString(p.in, line+"\n")
	must(p.t, err)
}

func (p *process) call(id int, method, params string) {
	p.t.Helper()
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, method, params))
}

// answer is the answer to a call.
type answer struct {
	ID     json.RawMessage
	Method string
	Result struct {
		IsError bool
		Content []struct{ Text string }
		Tools   []struct{ Description string }

		Contents  []struct{ Text, Blob string }
		Resources []struct{ URI string }
	}
	Error *struct {
		Code    int
		Message string
	}
}

func (a answer) text() string {
	if len(a.Result.Content) == 0 {
		return ""
	}
	return a.Result.Content[0].Text
}

// receive reads the next answer, skipping notifications. Anything else on stdout is an
// error.
func (p *process) receive() answer {
	p.t.Helper()
	for {
		type line struct {
			text []byte
			err  error
		}
		read := make(chan line, 1)
		go func() {
			text, err := p.out.ReadBytes('\n')
			read <- line{text, err}
		}()
		var a answer
		select {
		case l := <-read:
			if l.err != nil {
				p.t.Fatalf("reading an answer: %v; %s", l.err, p.said())
			}
			if err := json.Unmarshal(l.text, &a); err != nil {
				p.t.Fatalf("not JSON on stdout: %q", l.text)
			}
		case <-time.After(patience):
			p.t.Fatalf("no answer; %s", p.said())
		}
		if a.Method == "" {
			return a
		}
	}
}

func (p *process) initialize() {
	p.t.Helper()
	p.call(0, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`)
	if a := p.receive(); a.Error != nil {
		p.t.Fatalf("initialize: %+v", a.Error)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// exits waits for the end and returns the status, -1 for a signal.
func (p *process) exits() int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("it goes on; %s", p.said())
		return 0
	}
}

// tree writes files below a fresh folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, filepath.FromSlash(name))
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(text), 0o644))
	}
	return root
}

func skillMD(name, body string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n---\n" + body
}

func posix(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("no signals and no special files on Windows")
	}
}

func TestEndsWithItsInput(t *testing.T) {
	p := start(t, "serve")
	p.initialize()
	p.in.Close()
	if code := p.exits(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}

// TestSignalLetsCallsEnd checks that received requests are still answered after a signal. The
// answer has some megabytes that the client has not read yet, so the write blocks half way.
func TestSignalLetsCallsEnd(t *testing.T) {
	posix(t)
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := start(t, "serve", "--no-builtin", "--dir", tree(t, map[string]string{
			"big/SKILL.md": skillMD("big", ""), "big/data.txt": strings.Repeat("knack ", 1<<20),
		}))
		p.initialize()
		p.call(1, "resources/read", `{"uri":"skill://big/data.txt"}`)
		if _, err := p.out.Peek(1 << 10); err != nil { // it has begun
			t.Fatal(err)
		}
		must(t, p.cmd.Process.Signal(signal))
		select {
		case <-p.ended:
			t.Fatalf("%v: ended with an answer half out", signal)
		case <-time.After(200 * time.Millisecond):
		}
		if a := p.receive(); len(a.Result.Contents) != 1 || len(a.Result.Contents[0].Text) != 6<<20 {
			t.Errorf("%v: got %d contents", signal, len(a.Result.Contents))
		}
		if code := p.exits(); code != 0 {
			t.Errorf("%v: exit status %d; %s", signal, code, p.said())
		}
	}
}

// TestSecondSignalEndsAtOnce checks that a second signal ends the server even if a client does not
// read.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	posix(t)
	p := start(t, "serve", "--no-builtin", "--dir", tree(t, map[string]string{
		"big/SKILL.md": skillMD("big", ""), "big/data.txt": strings.Repeat("knack ", 1<<20),
	}))
	p.initialize()
	p.call(1, "resources/read", `{"uri":"skill://big/data.txt"}`)
	if _, err := p.out.Peek(1 << 10); err != nil {
		t.Fatal(err)
	}
	// A signal that arrives before the first was handled merges with it. The exit status
	// shows whether only one was handled.
	for sent := true; sent; {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case err := <-p.ended:
			p.ended <- err
			sent = false
		case <-time.After(50 * time.Millisecond):
		}
	}
	if code := p.exits(); code != -1 {
		t.Errorf("exit status %d", code)
	}
}

// TestClosedStdoutEnds checks that a server ends if its client closes stdout but leaves stdin open.
func TestClosedStdoutEnds(t *testing.T) {
	posix(t)
	p := start(t, "serve")
	p.initialize()
	must(t, p.outEnd.Close())
	p.call(1, "tools/list", `{}`)
	if code := p.exits(); code != 3 {
		t.Errorf("exit status %d", code)
	}
}

// TestClosedStderrHarmsNothing checks that a client that closes stderr still gets its answers.
func TestClosedStderrHarmsNothing(t *testing.T) {
	posix(t)
	dir := tree(t, map[string]string{"git/SKILL.md": skillMD("git", "")})
	p := start(t, "serve", "--no-builtin", "--dir", dir)
	must(t, p.errEnd.Close())
	p.initialize()
	for i := range 3 { // each bad skill causes a warning on stderr
		bad := filepath.Join(dir, fmt.Sprint("bad", i))
		must(t, os.Mkdir(bad, 0o755))
		must(t, os.WriteFile(filepath.Join(bad, "SKILL.md"), []byte("no frontmatter"), 0o644))
		testwait.Until(t, func() bool {
			p.call(10+i, "tools/call", `{"name":"find_skills","arguments":{}}`)
			return strings.Count(p.receive().text(), "' was skipped: ") == i+1
		}, "the bad skill was not seen")
	}
	p.in.Close()
	if code := p.exits(); code != 0 {
		t.Errorf("exit status %d", code)
	}
}
