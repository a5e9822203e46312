package registrytest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// The kinds of registry that tests start.
const (
	Distribution   = "distribution 3.1.2"
	DockerRegistry = "docker-registry 2.8.2" // Debian's, without the list of referrers
)

// Program builds the program in the folder interop/NAME and returns its path.
func Program(t testing.TB, name string) string {
	t.Helper()
	from := filepath.Join(module(t), "interop", name)
	for _, file := range []string{"main.go", "go.mod", "go.sum"} { // read, so that a change of the file invalidates the cached result of the test
		if _, err := os.ReadFile(filepath.Join(from, file)); err != nil {
			t.Fatal(err)
		}
	}
	at, err := tool(from, name)
	if err != nil {
		Missing(t, "build interop/%s: %v", name, err)
	}
	return at
}

// Knack builds knack and returns its path. It shares the compiled packages with the tests.
func Knack(t testing.TB) string {
	t.Helper()
	at, err := tool(module(t), "knack", "GOFLAGS="+os.Getenv("GOFLAGS")+" -buildvcs=false")
	if err != nil {
		t.Fatal(err)
	}
	return at
}

var (
	building sync.Mutex
	built    = map[string]string{} // paths by name
)

// tool returns the path of a tool of a module. The go command links the tool once for all tests and
// caches it.
func tool(module, name string, env ...string) (string, error) {
	building.Lock()
	defer building.Unlock()
	if at := built[name]; at != "" {
		return at, nil
	}
	cmd := exec.Command("go", "tool", "-C", module, "-n", name)
	cmd.Env = append(os.Environ(), env...)
	var said bytes.Buffer
	cmd.Stderr = &said
	at, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%w\n%s", err, said.Bytes())
	}
	built[name] = strings.TrimSpace(string(at))
	return built[name], nil
}

// module returns the folder of the module whose test runs.
func module(t testing.TB) string {
	t.Helper()
	at, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		above := filepath.Dir(at)
		if above == at {
			t.Fatal("the test runs in no module")
		}
		at = above
	}
}

// Missing skips a test that lacks one of its programs. In continuous integration it fails the test.
func Missing(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// All lists the kinds of registry that tests start.
var All = []string{Distribution, DockerRegistry}

// Each runs a test with each kind of registry. It tests with Debian's only in the second lane.
func Each(t *testing.T, f func(t *testing.T, host string)) {
	t.Run(Distribution, func(t *testing.T) { f(t, Open(t, Distribution, "")) })
	t.Run(DockerRegistry, func(t *testing.T) {
		testwait.Slow(t)
		f(t, Open(t, DockerRegistry, ""))
	})
}

// Open starts a registry of the given kind and returns its address. If passwords is not empty, it
// is the path of an htpasswd file, and the registry requires credentials.
func Open(t testing.TB, name, passwords string) (host string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a registry")
	}
	if name == Distribution {
		cmd := exec.Command(Program(t, "registry"))
		if passwords != "" {
			cmd.Args = append(cmd.Args, passwords)
		}
		return address(t, cmd)
	}
	program, err := exec.LookPath("docker-registry")
	if err != nil {
		Missing(t, "Debian's docker-registry is not installed: %v", err)
	}
	config := "version: 0.1\nstorage: {inmemory: {}}\nhttp: {addr: '127.0.0.1:0', secret: x}\n"
	if passwords != "" {
		config += "auth: {htpasswd: {realm: knack, path: '" + passwords + "'}}\n"
	}
	file := filepath.Join(t.TempDir(), "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return address(t, exec.Command(program, "serve", file))
}

var serving = regexp.MustCompile(`(?:^|listening on )(127\.0\.0\.1:\d+)`)

// address starts a registry and returns the address that the registry prints.
func address(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	stdin, err := cmd.StdinPipe() // the registry of interop ends when its standard input does
	if err != nil {
		t.Fatal(err)
	}
	out, w := io.Pipe()
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close()
		_ = cmd.Process.Kill()
		go func() { _, _ = io.Copy(io.Discard, out) }()
		_ = cmd.Wait()
		w.Close()
	})
	var said []string
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return m[1]
		}
		said = append(said, lines.Text())
	}
	t.Fatalf("the registry says no address: %s", strings.Join(said, "\n"))
	return ""
}
