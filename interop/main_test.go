package interop

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/testwait"
)

const (
	legacy = "2025-11-25"
	modern = "2026-07-28"

	stdio = "stdio"
	web   = "HTTP"
)

// work is the folder that tests share and TestMain removes: the binary, the generated
// skills, the clients' home.
var work string

// children are the servers that tests share.
var children struct {
	sync.Mutex
	stop []func()
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Third-party clients take minutes: go test ./... leaves them to make interop and .ci/run.
	if flag.Lookup("test.run").Value.String() == "" && !*update {
		fmt.Println("no client runs without -run: make interop, or go test -run Interop ./interop")
		os.Exit(0)
	}
	if runtime.NumCPU() < 4 {
		// Client and server wait for each other most of the time.
		_ = flag.Set("test.parallel", "4")
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if work, err = os.MkdirTemp("", "knack-interop-"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(work)
	if err := moveHome(filepath.Join(work, "home")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	code := m.Run()
	for _, stop := range children.stop {
		stop()
	}
	if err := matrix.close(code == 0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// builder is the environment of go build, whose cache lies in the home of the person who tests.
var builder = append(os.Environ(), "CGO_ENABLED=0")

// moveHome makes dir the home of all that is started, so that no settings of the person who
// tests count.
func moveHome(dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if err := os.Setenv(name, dir); err != nil {
			return err
		}
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return nil
}

// complete reports whether all of the suite runs, as make interop has it. CI leaves out scenarios and
// clients that say little beside the others.
func complete() bool { return !testing.Short() && (testwait.SecondLane() || *update) }

// missing skips where something is not installed, so that the tables of the
// document are not seen whole. Continuous integration always has it.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	matrix.skipped()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// lock is read so that the test cache depends on the installed packages.
var lock = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("package-lock.json") })

const packages = "node_modules/@modelcontextprotocol/"

// node finds the Node that npm ci installed, which is newer than the system's, and one of
// the packages.
func node(t *testing.T, pkg string) string {
	t.Helper()
	if _, err := lock(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(packages + pkg); err != nil {
		missing(t, "no %s; run npm ci --prefix interop: %v", pkg, err)
	}
	bin := "node_modules/node/bin/node"
	if runtime.GOOS == "windows" {
		bin += ".exe"
	}
	bin, err := filepath.Abs(bin)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(bin); err != nil {
		missing(t, "no Node of our own; run npm ci --prefix interop, and let the package node run its install script: %v", err)
	}
	return bin
}

// script reads a script of ours, so that a change to it is a reason to test again.
func script(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// knack builds the binary that users run, once.
func knack(t *testing.T) string {
	t.Helper()
	binary, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return binary
}

var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(work, "knack")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "../cmd/knack")
	cmd.Env = builder
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build knack: %w: %s", err, out)
	}
	return binary, nil
})

// tree is a folder of skills.
type tree struct {
	name string // in the matrix
	dir  string
	// skills and files are how many are published, counted by who made the folder.
	skills, files int
	flags         []string // of knack serve, instead of --dir

	once sync.Once
	url  string
	err  error
}

// args serve the tree over stdio.
func (r *tree) args() []string {
	if r.flags != nil {
		return append([]string{"serve", "--no-builtin"}, r.flags...)
	}
	return []string{"serve", "--no-builtin", "--dir", r.dir}
}

// over reports whether clients read the tree with this transport and protocol version.
// The fixtures show how these differ, so that the corpus needs one version over each
// transport, or only one of both where the suite is not run whole, and the generated skills need one.
func (r *tree) over(transport, version string) bool {
	switch {
	case r.name == "generated", r.name == "corpus" && !complete():
		return transport == web && version == modern
	case r.name == "corpus":
		return (transport == web) == (version == modern)
	}
	return true
}

// combinations calls f for each transport and version over which clients are pointed at the tree.
func (r *tree) combinations(f func(transport, version string)) {
	for _, transport := range []string{stdio, web} {
		for _, version := range []string{legacy, modern} {
			if r.over(transport, version) {
				f(transport, version)
			}
		}
	}
}

// http serves the tree over HTTP until all tests are done.
func (r *tree) http(t *testing.T) string {
	t.Helper()
	binary := knack(t)
	r.once.Do(func() {
		var stop func()
		if r.url, stop, r.err = serve(binary, r.args()...); r.err == nil {
			children.Lock()
			defer children.Unlock()
			children.stop = append(children.stop, stop)
		}
	})
	if r.err != nil {
		t.Fatal(r.err)
	}
	return r.url
}

// serve starts knack on a free port.
func serve(binary string, args ...string) (url string, stop func(), err error) {
	cmd := exec.Command(binary, append(args, "--http", "127.0.0.1:0")...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	found := make(chan string, 1)
	var said strings.Builder // read after found is closed
	go func() {
		for lines := bufio.NewScanner(stderr); lines.Scan(); { // to the end, or the server would block
			if _, url, ok := strings.Cut(lines.Text(), "knack serves MCP at "); ok {
				found <- url
			}
			fmt.Fprintln(&said, lines.Text())
		}
		close(found)
	}()
	select {
	case url, ok := <-found:
		if !ok {
			stop()
			return "", nil, fmt.Errorf("knack serve ended at once: %s", said.String())
		}
		return url, stop, nil
	case <-time.After(time.Minute):
		stop()
		return "", nil, errors.New("knack serve says no address")
	}
}

// ran is how a client ended.
type ran struct {
	code           int
	stdout, stderr string
}

// start runs a client for at most fifteen minutes, on a busy machine.
func start(t *testing.T, program string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "NO_COLOR=1")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s %q: %v", program, args, err)
	}
	return ran{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// plural counts.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
