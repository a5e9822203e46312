package agents

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// The environment variables that steer the suite.
const (
	// which names the clients to run, comma-separated, or "all". Without it the tests skip.
	which = "KNACK_AGENTS"
	// given is the path of the knack to test; without it the suite builds one.
	given = "KNACK"
	// installed is the folder that holds the installed clients, by default clients.
	installed = "KNACK_AGENTS_CLIENTS"
	// keep is a folder in which homes, wires and requests stay after the run.
	keep = "KNACK_AGENTS_KEEP"
)

var update = flag.Bool("update", false, "write what was seen into doc/clients.md")

// work is the folder below which every client has a home.
var work string

func TestMain(m *testing.M) {
	if s, ok := sidecar(); ok {
		os.Exit(record(s))
	}
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if work = os.Getenv(keep); work != "" {
		if work, err = filepath.Abs(work); err == nil {
			err = os.MkdirAll(work, 0o755)
		}
	} else if work, err = os.MkdirTemp("", "knack-agents-"); err == nil {
		defer os.RemoveAll(work)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	if err := seen.close(code == 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// A recorder stands between a client and knack: the test binary itself, started by
// the client under another name. What it is to do stands in a file beside it, since
// clients pass on only a part of the environment.
type recorder struct {
	Knack string // the program to start
	To    string // the file that gets a line of JSON for each line on the wire
}

// line is one line on the wire.
type line struct {
	From string          `json:"from"` // "client" or "knack"
	JSON json.RawMessage `json:"json,omitempty"`
	Text string          `json:"text,omitempty"` // of what is no JSON, and of standard error
}

const sidecarSuffix = ".recorder.json"

// sidecar reports whether this process was started as a recorder.
func sidecar() (recorder, bool) {
	var r recorder
	self, err := os.Executable()
	if err != nil {
		return r, false
	}
	data, err := os.ReadFile(self + sidecarSuffix)
	return r, err == nil && json.Unmarshal(data, &r) == nil
}

// record starts knack with the arguments of this process, passes everything through
// and keeps it. It ends when knack does.
func record(r recorder) int {
	to, err := os.OpenFile(r.To, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	var mu sync.Mutex
	write := func(l line) {
		data, _ := json.Marshal(l)
		mu.Lock()
		defer mu.Unlock()
		_, _ = to.Write(append(data, '\n'))
	}
	cmd := exec.Command(r.Knack, os.Args[1:]...)
	in, err := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	fail, err3 := cmd.StderrPipe()
	if err != nil || err2 != nil || err3 != nil {
		fmt.Fprintln(os.Stderr, "pipes:", err, err2, err3)
		return 3
	}
	write(line{From: "start", Text: strings.Join(os.Args[1:], " ")})
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	pass := func(from string, src io.Reader, dst io.Writer) {
		for r := bufio.NewReaderSize(src, 1<<20); ; {
			text, err := r.ReadString('\n')
			if text != "" {
				l := line{From: from}
				if json.Valid([]byte(text)) {
					l.JSON = json.RawMessage(text)
				} else {
					l.Text = text
				}
				write(l)
				_, _ = io.WriteString(dst, text)
			}
			if err != nil {
				return
			}
		}
	}
	go func() {
		pass("client", os.Stdin, in)
		_ = in.Close()
	}()
	var ended sync.WaitGroup
	ended.Go(func() { pass("knack", out, os.Stdout) })
	ended.Go(func() { pass("stderr", fail, os.Stderr) })
	ended.Wait()
	_ = cmd.Wait()
	return max(0, cmd.ProcessState.ExitCode())
}

// knack is the binary to test: the one that is given, or one that is built once.
var knack = sync.OnceValues(func() (string, error) {
	if at := os.Getenv(given); at != "" {
		return filepath.Abs(at)
	}
	binary := filepath.Join(work, "knack"+exe)
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "../../cmd/knack")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build knack: %w: %s", err, out)
	}
	return binary, nil
})

var exe = map[bool]string{true: ".exe"}[runtime.GOOS == "windows"]

// node is the Node that npm ci --prefix interop installed: clients need a newer one
// than most systems have.
func node() (string, error) {
	bin, err := filepath.Abs("../node_modules/node/bin/node" + exe)
	if err != nil {
		return "", err
	}
	if _, err = os.Stat(bin); err != nil {
		return "", fmt.Errorf("no Node of our own; run npm ci --prefix interop: %w", err)
	}
	return bin, nil
}

// patience is how long one run of a client may take. They take 3 to 20 seconds.
const patience = 3 * time.Minute
