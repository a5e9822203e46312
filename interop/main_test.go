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

// work is the folder that the tests share and TestMain removes. It contains the binary, the
// generated skills, and the clients' home.
var work string

// children contains the functions that stop the servers that tests share.
var children struct {
	sync.Mutex
	stop []func()
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Third-party clients take minutes, so go test ./... does not run them; make interop and
	// .ci/run do.
	if flag.Lookup("test.run").Value.String() == "" && !*update {
		fmt.Println("no client runs without -run: make interop, or go test -run Interop ./interop")
		os.Exit(0)
	}
	if runtime.NumCPU() < 4 {
		// Client and server mostly wait for each other, so more tests can run in parallel.
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

// builder is the environment of go build. It has the user's real home, which contains the build
// cache.
var builder = append(os.Environ(), "CGO_ENABLED=0")

// moveHome makes dir the home of all programs that the tests start, so that the user's settings
// have no effect.
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

// complete reports whether the whole suite runs, as in make interop. CI leaves out scenarios and
// clients that add little to the rest.
func complete() bool { return !testing.Short() && (testwait.SecondLane() || *update) }

// missing skips a test whose program is not installed, and notes that the document's tables are
// incomplete in this run. In continuous integration, which has all programs, it fails the test.
func missing(t *testing.T, format string, args ...any) {
	t.Helper()
	matrix.skipped()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// lock reads the list of installed packages, so that the test cache depends on it.
var lock = sync.OnceValues(func() ([]byte, error) { return os.ReadFile("package-lock.json") })

const packages = "node_modules/@modelcontextprotocol/"

// node returns the path of the Node that npm ci installed, which is newer than the system's. It
// also requires that a package is installed.
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

// script reads a script of this folder, so that a change to the script invalidates the cached test
// result.
func script(t *testing.T, name string) string {
	t.Helper()
	if _, err := os.ReadFile(name); err != nil {
		t.Fatal(err)
	}
	return name
}

// knack builds knack on the first call and returns the binary's path.
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
	name string // the name in the matrix
	dir  string
	// skills and files are the numbers of published skills and files, counted by the code that made
	// the folder.
	skills, files int
	flags         []string // flags of knack serve that replace --dir

	once sync.Once
	url  string
	err  error
}

// args returns the arguments that make knack serve the tree over stdio.
func (r *tree) args() []string {
	if r.flags != nil {
		return append([]string{"serve", "--no-builtin"}, r.flags...)
	}
	return []string{"serve", "--no-builtin", "--dir", r.dir}
}

// over reports whether clients read the tree with this transport and protocol version. The fixtures
// are read with all four combinations. The corpus needs only one version over each transport, and
// the generated skills a single combination.
func (r *tree) over(transport, version string) bool {
	switch {
	case r.name == "generated":
		return transport == web && version == modern
	case r.name == "corpus":
		return (transport == web) == (version == modern)
	}
	return true
}

// combinations calls f for each transport and version with which clients read the tree.
func (r *tree) combinations(f func(transport, version string)) {
	for _, transport := range []string{stdio, web} {
		for _, version := range []string{legacy, modern} {
			if r.over(transport, version) {
				f(transport, version)
			}
		}
	}
}

// http serves the tree over HTTP until all tests are done, and returns the URL.
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

// serve starts knack over HTTP on a free port. stop ends it.
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
		for lines := bufio.NewScanner(stderr); lines.Scan(); { // reads to the end, since otherwise the server would block
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

// ran is the exit status and the output of a client.
type ran struct {
	code           int
	stdout, stderr string
}

// start runs a client. It allows fifteen minutes, enough on a busy machine.
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

// plural returns a number with its noun, in the plural unless n is 1.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
