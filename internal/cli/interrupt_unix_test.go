//go:build unix

package cli_test

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// blocked is a knack process that waits for one of its streams.
type blocked struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	stdout io.ReadCloser
	stderr io.ReadCloser
}

func startBlocked(t *testing.T, dir string, args ...string) *blocked {
	t.Helper()
	b := &blocked{cmd: exec.Command("knack", args...)}
	b.cmd.Dir = dir
	b.cmd.Env = append(os.Environ(), "HOME="+dir, "KNACK_DIRS=")
	var err error
	if b.in, err = b.cmd.StdinPipe(); err == nil {
		if b.stdout, err = b.cmd.StdoutPipe(); err == nil {
			b.stderr, err = b.cmd.StderrPipe()
		}
	}
	if err == nil {
		err = b.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	return b
}

// interrupted sends a signal and returns the exit status.
func (b *blocked) interrupted(t *testing.T, s os.Signal) int {
	t.Helper()
	if err := b.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(testwait.Patience, func() { _ = b.cmd.Process.Kill() }).Stop()
	state, err := b.cmd.Process.Wait() // waits for the process but not for the streams
	if err != nil {
		t.Fatal(err)
	}
	return state.ExitCode()
}

// skillsToFix writes n skills, each with an error that check --fix repairs.
func skillsToFix(t *testing.T, n int) (dir, old, fixed string) {
	t.Helper()
	dir = t.TempDir()
	old = "---\nname: NAME\ndescription: d: e\n---\n"
	for i := range n {
		name := fmt.Sprintf("skill-%04d-%s", i, strings.Repeat("x", 50)) // long names fill the pipe
		put(t, filepath.Join(dir, "s", name, "SKILL.md"), strings.ReplaceAll(old, "NAME", name))
	}
	return dir, old, "---\nname: NAME\ndescription: 'd: e'\n---\n"
}

// TestInterrupt checks that Ctrl-C ends a command, whatever it waits for, with the exit status that
// shells expect.
func TestInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; TestInterruptedScan and TestInterruptedWrite do not")
	}
	t.Parallel()
	dir, _, _ := skillsToFix(t, 100)
	asked, askedForFile := make(chan struct{}, 10), make(chan struct{}, 10)
	ended := make(chan struct{})
	url := newLoopback(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".zip") {
			askedForFile <- struct{}{}
		} else {
			asked <- struct{}{}
		}
		<-ended
	}))
	t.Cleanup(func() { close(ended) }) // before the server, which waits for the handler
	for name, tt := range map[string]struct {
		args    []string
		waits   func(t *testing.T, b *blocked) // returns once the command waits
		signal  os.Signal
		status  int
		lasting bool // the output fills stdout and stderr
		said    string
	}{
		"for input": {[]string{"call"}, func(t *testing.T, b *blocked) {
			if _, err := b.in.Write(make([]byte, 1<<18)); err != nil { // more than a pipe holds
				t.Error(err)
			}
		}, syscall.SIGINT, 130, false, ""},
		"for input, ended": {[]string{"call"}, func(t *testing.T, b *blocked) {
			if _, err := b.in.Write(make([]byte, 1<<18)); err != nil {
				t.Error(err)
			}
		}, syscall.SIGTERM, 143, false, ""},
		"for a server": {[]string{"check", url}, func(*testing.T, *blocked) { <-asked }, syscall.SIGINT, 130, false, ""},
		"for a reader": {[]string{"list", "--dir", "s", "--json"}, func(t *testing.T, b *blocked) {
			if _, err := io.ReadFull(b.stdout, make([]byte, 1)); err != nil {
				t.Error(err)
			}
		}, syscall.SIGINT, 130, true, ""},
		"for a source": {[]string{"add", url + "/x.zip", "--global"}, func(*testing.T, *blocked) { <-askedForFile }, syscall.SIGINT, 130, false,
			"; nothing was changed\nhint: run the same command again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := startBlocked(t, dir, tt.args...)
			tt.waits(t, b)
			if got := b.interrupted(t, tt.signal); got != tt.status {
				t.Errorf("exit status %d, want %d", got, tt.status)
			}
			out, _ := io.ReadAll(b.stdout)
			said, _ := io.ReadAll(b.stderr)
			if string(said) != "error: interrupted"+tt.said+"\n" || !tt.lasting && len(out) > 0 {
				t.Errorf("stdout %.100q, stderr %.200q", out, said)
			}
		})
	}
}

// TestInterruptUnread checks that Ctrl-C ends a command even if it cannot report the interrupt,
// because stdout and stderr are the same full pipe.
func TestInterruptUnread(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; TestInterruptedScan and TestInterruptedWrite do not")
	}
	t.Parallel()
	dir, _, _ := skillsToFix(t, 100)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	b := &blocked{cmd: exec.Command("knack", "list", "--dir", "s", "--json")}
	b.cmd.Dir, b.cmd.Stdout, b.cmd.Stderr = dir, w, w
	b.cmd.Env = append(os.Environ(), "HOME="+dir, "KNACK_DIRS=")
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.cmd.Process.Kill() })
	if _, err := io.ReadFull(r, make([]byte, 1)); err != nil { // the rest fills the pipe
		t.Fatal(err)
	}
	if got := b.interrupted(t, syscall.SIGINT); got != 130 {
		t.Errorf("exit status %d", got)
	}
}

// TestInterruptedFix checks that an interrupted check --fix leaves each file either unchanged or
// completely fixed, and no temporary file.
func TestInterruptedFix(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for seconds; TestInterruptedScan and TestInterruptedWrite do not")
	}
	t.Parallel()
	dir, old, fixed := skillsToFix(t, 700)
	b := startBlocked(t, dir, "check", "--fix", "s")
	if _, err := io.ReadFull(b.stderr, make([]byte, 1)); err != nil { // the rest fills the pipe
		t.Fatal(err)
	}
	if got := b.interrupted(t, syscall.SIGINT); got != 130 {
		t.Errorf("exit status %d", got)
	}
	counts := map[bool]int{}
	err := filepath.WalkDir(filepath.Join(dir, "s"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if edit.IsTemporary(d.Name()) {
			t.Errorf("%s is left", path)
			return nil
		}
		data, err := os.ReadFile(path)
		text := strings.Replace(string(data), filepath.Base(filepath.Dir(path)), "NAME", 1)
		if text != old && text != fixed {
			t.Errorf("%s: %q", path, data)
		}
		counts[text == fixed]++
		return err
	})
	if err != nil || counts[true] == 0 || counts[false] == 0 {
		t.Errorf("%d fixed, %d not, %v", counts[true], counts[false], err)
	}
}
