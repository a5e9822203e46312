package distcmd_test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
)

// TestKilledFreesLock kills knack while git waits for a server. It checks that the programs that
// knack started keep running, and that none of them holds the lock of the project.
func TestKilledFreesLock(t *testing.T) {
	if testing.Short() {
		t.Skip("starts programs")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip(err)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	connected := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := silent.Accept()
			if err != nil {
				return
			}
			connected <- c
		}
	}()
	dir := t.TempDir()
	for name, text := range map[string]string{"p/.git/HEAD": "", "home/x": "", "src/SKILL.md": "---\nname: pdf\ndescription: Reads PDF files.\n---\n"} {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mark := "KNACK_TEST_MARK=" + dir
	command := func(args ...string) *exec.Cmd {
		cmd := exec.Command(os.Args[0], args...)
		cmd.Dir = filepath.Join(dir, "p")
		cmd.Env = append(os.Environ(), asKnack+"=1", mark, "HOME="+filepath.Join(dir, "home"), "XDG_CACHE_HOME=", "XDG_STATE_HOME=", "XDG_CONFIG_HOME=", "GIT_CONFIG_NOSYSTEM=1")
		return cmd
	}
	cmd := command("add", "http://"+silent.Addr().String()+"/x/y.git", "--all")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	c := <-connected // from a program that git started, and that never gets an answer
	defer c.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if len(marked(mark)) == 0 {
		t.Skip("no program of git goes on here, so that none could hold the lock")
	}
	out, err := command("add", "../src", "--all").CombinedOutput()
	if err != nil {
		t.Errorf("the next command: %v\n%s", err, out)
	}
	for _, pid := range marked(mark) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// marked returns the processes that have a variable in their environment.
func marked(mark string) (found []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, at := range all {
		if env, err := os.ReadFile(at); err == nil && bytes.Contains(env, []byte(mark)) {
			if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(at))); err == nil {
				found = append(found, pid)
			}
		}
	}
	return found
}
