package cli_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli"
)

// TestConnectOfGoRun checks that connect writes no program that go run built into a client's file,
// either from the folder for temporary files or from the build cache.
func TestConnectOfGoRun(t *testing.T) {
	if testing.Short() {
		t.Skip("starts many processes, in which the race detector sees nothing")
	}
	t.Parallel()
	const advice = "go install ./cmd/knack, then run knack connect cursor --write\n"
	for folder, temporary := range map[string]bool{
		"go-build3173782431/b001/exe":    true,
		strings.Repeat("0a", 32) + "-d":  true,
		"go-build/bin":                   false,
		"go-build3173782431/b001/exe/up": false,
	} {
		home := t.TempDir()
		program := filepath.Join(home, folder, "knack")
		copyProgram(t, program)
		run := func(args ...string) (said string, err error) {
			cmd := exec.CommandContext(t.Context(), program, append([]string{"connect", "cursor"}, args...)...)
			cmd.Args[0] = "knack" // see TestMain
			cmd.Dir, cmd.Env = home, []string{"HOME=" + home, "USERPROFILE=" + home}
			var b strings.Builder
			cmd.Stderr = &b
			err = cmd.Run()
			return b.String(), err
		}
		said, err := run()
		if warned := strings.Contains(said, "warning: this knack is a temporary build of go run; "+advice); err != nil || warned != temporary {
			t.Errorf("%s: %v, %s", folder, err, said)
		}
		said, err = run("--write")
		refused := strings.HasSuffix(said, "error: this knack is a temporary build of go run\nhint: "+advice)
		if _, missing := os.Stat(filepath.Join(home, ".cursor", "mcp.json")); refused != temporary || (err != nil) != temporary || (missing != nil) != temporary {
			t.Errorf("%s: %v, %s", folder, err, said)
		}
		if said, err := run("--write", "--command", "/opt/knack"); err != nil {
			t.Errorf("%s: %v, %s", folder, err, said)
		}
	}
}

// copyProgram copies the test binary.
func copyProgram(t *testing.T, to string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	if os.Link(exe, to) == nil {
		return
	}
	in, err := os.Open(exe)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPortInUse checks the message for a port on which another program listens.
func TestPortInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	out, said := new(locked), new(locked)
	env := console.Env{Stdout: out, Stderr: said, Getenv: func(string) string { return "" }, Dir: t.TempDir(), Home: t.TempDir()}
	code := cli.Main(t.Context(), env, []string{"serve", "--http", port})
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("error: --http %d: another program listens on 127.0.0.1:%d\nhint: choose another port: --http %d, or --http 0 for any free one\n", n, n, n+1)
	if code != 3 || said.String() != want {
		t.Errorf("exit status %d, %s", code, said)
	}
}
