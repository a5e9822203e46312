package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// terminal is a command at a terminal of 80 columns.
type terminal struct {
	cmd   *exec.Cmd
	keys  *os.File // the terminal's other end, where a person types and reads
	began time.Time
	ended chan struct{}
	mode  *unix.Termios // before the command began

	mu     sync.Mutex
	output strings.Builder
	first  time.Duration // from the start to the first output
}

// atTerminal starts a command at a terminal. If it has no stdin, its stdin is the terminal too.
func atTerminal(t testing.TB, cmd *exec.Cmd) *terminal {
	t.Helper()
	keys, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	must(t, unix.IoctlSetPointerInt(int(keys.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(keys.Fd()), unix.TIOCGPTN)
	must(t, err)
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	defer tty.Close()
	must(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}))
	if cmd.Stdin == nil {
		cmd.Stdin = tty
	}
	cmd.Stdout, cmd.Stderr = tty, tty
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 1}
	mode, err := unix.IoctlGetTermios(int(keys.Fd()), unix.TCGETS)
	must(t, err)
	term := &terminal{cmd: cmd, keys: keys, began: time.Now(), ended: make(chan struct{}), mode: mode}
	must(t, cmd.Start())
	go func() {
		defer close(term.ended)
		b := make([]byte, 64<<10)
		for {
			n, err := keys.Read(b)
			term.see(b[:n])
			if err != nil { // the command has closed its end
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill()
		keys.Close()
	})
	return term
}

func (t *terminal) see(b []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(b) > 0 && t.first == 0 {
		t.first = time.Since(t.began)
	}
	const most = 1 << 20 // of an output of hundreds of megabytes
	if t.output.Len() < most {
		t.output.Write(b)
	}
}

// screen returns all output so far.
func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.output.String()
}

// shows waits until the terminal has shown a text.
func (t *terminal) shows(tb testing.TB, text string) {
	tb.Helper()
	testwait.Until(tb, func() bool { return strings.Contains(t.screen(), text) }, text, func() string { return fmt.Sprintf("in %q", t.screen()) })
}

// status waits for the end of the command and returns its exit status.
func (t *terminal) status() int {
	<-t.ended
	_ = t.cmd.Wait()
	return t.cmd.ProcessState.ExitCode()
}

// knack returns a command that runs knack with a fresh home.
func knack(t testing.TB, program string, args ...string) *exec.Cmd {
	home := t.TempDir()
	cmd := exec.Command(program, args...)
	cmd.Env = append(os.Environ(), asKnack+"=1", "HOME="+home, "KNACK_DIRS=", "TERM=xterm", "NO_COLOR=")
	cmd.Dir = home
	return cmd
}

// waiting is the message of a command that waits for input at a terminal.
const waiting = "waiting for a tool call on standard input"

// TestProgressAtTerminal checks that a command at a terminal shows that it waits for
// input, and removes that line when it gets input or Ctrl-C.
func TestProgressAtTerminal(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"input", "Ctrl-C"} {
		in, client, err := os.Pipe()
		must(t, err)
		defer client.Close()
		cmd := knack(t, os.Args[0], "call", "--no-builtin")
		cmd.Stdin = in
		term := atTerminal(t, cmd)
		in.Close()
		term.shows(t, "\r"+waiting)
		if end == "input" {
			client.Close()
		} else {
			term.keys.WriteString("\x03")
		}
		if status := term.status(); status <= 0 {
			t.Errorf("%s: exit status %d", end, status)
		}
		_, after, _ := strings.Cut(term.screen(), waiting)
		rest := strings.Split(waiting+after[:max(strings.Index(after, "\x1b[1;31merror:"), 0)], "\r")
		// Spaces must overwrite the line that was shown last, which need not be the first.
		if n := len(rest); n < 3 || rest[n-1] != "" || strings.Trim(rest[n-2], " ") != "" || len(rest[n-2]) < len(strings.TrimRight(strings.TrimSuffix(rest[n-3], "^C"), " \b")) {
			t.Errorf("%s: after the line comes %q", end, after)
		}
	}
}

// TestEvalProgress checks that knack eval shows its progress during requests to a model.
func TestEvalProgress(t *testing.T) {
	t.Parallel()
	seen := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-seen:
		case <-r.Context().Done():
		}
		fmt.Fprint(w, `{"choices":[{"message":{"content":"no"},"finish_reason":"stop"}]}`)
	}))
	t.Cleanup(server.Close)
	term := atTerminal(t, knack(t, os.Args[0], "eval", "--url", server.URL, "--model", "m", "--runs", "1", "engage"))
	term.shows(t, "asking m: 0 of 7")
	close(seen)
	if status := term.status(); status != 1 {
		t.Errorf("exit status %d: %q", status, term.screen())
	}
}
