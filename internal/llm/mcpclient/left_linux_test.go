package mcpclient

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// isAlive reports whether a process runs. A process that has ended and waits for its parent does
// not.
func isAlive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, ok := bytes.Cut(stat, []byte(") "))
	return err == nil && ok && state[0] != 'Z' && state[0] != 'X'
}

// pidIn waits for the number of a process in a file.
func pidIn(t *testing.T, file string) (pid int) {
	t.Helper()
	testwait.Until(t, func() bool {
		data, err := os.ReadFile(file)
		pid, _ = strconv.Atoi(string(data))
		return err == nil && pid > 0
	}, "the number of a process")
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGKILL) })
	return pid
}

// TestNoProcessIsLeft checks that programs which ignore signals are ended, with their
// children.
func TestNoProcessIsLeft(t *testing.T) {
	for _, kind := range []string{"stubborn", "forks"} {
		file := filepath.Join(t.TempDir(), "pid")
		c := connected(t, as(kind+" "+file), options(t))
		pid := pidIn(t, file)
		if !isAlive(pid) {
			t.Errorf("%s: there is no process", kind)
		}
		c.Close(t.Context())
		testwait.Until(t, func() bool { return !isAlive(pid) }, kind, "is left")
	}
}

// TestHurry checks that a program that ignores all signals is ended soon if the context
// has ended.
func TestHurry(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	o := options(t)
	o.grace = time.Hour
	c := connected(t, as("stubborn "+file), o)
	pid := pidIn(t, file)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	c.Close(ctx)
	testwait.Until(t, func() bool { return !isAlive(pid) }, "it is left")
}

// TestForksAndDies checks that a child that keeps the pipes of a program that died is ended.
func TestForksAndDies(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	c := connected(t, as("forks "+file), options(t))
	pid := pidIn(t, file)
	if _, _, err := c.Call(t.Context(), "dies", nil); err == nil || err.Error() != "files: the program has ended: exit status 7; it said: fatal error: out of cheese" {
		t.Errorf("%v", err)
	}
	testwait.Until(t, func() bool { return !isAlive(pid) }, "a process is left")
}

// TestEscapes checks that a process in another group, which keeps the pipes of a program that died,
// does not delay the error. That process is not ended.
func TestEscapes(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("setsid"); err != nil || testing.Short() {
		t.Skip("waits for a second, or ", err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	c := connected(t, as("escapes "+file), options(t))
	pidIn(t, file)
	if _, _, err := c.Call(t.Context(), "dies", nil); err == nil || !strings.HasPrefix(err.Error(), "files: the program has ended: exit status 7") && err.Error() != "files: the program has closed its standard output" {
		t.Errorf("%v", err)
	}
}

// TestKilled checks that the programs of a killed knack end with it.
func TestKilled(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pid")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=connects "+file)
	must(t, cmd.Start())
	pid := pidIn(t, file)
	if !isAlive(pid) {
		t.Error("there is no process")
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	testwait.Until(t, func() bool { return !isAlive(pid) }, "the program is left")
}
