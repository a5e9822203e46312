// Package registrytest starts real registries for tests, puts releases into them, and
// simulates network faults between them and knack.
package registrytest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Registry is a registry in a process of its own: Debian's docker-registry, or the program of
// interop/registry if KNACK_REGISTRY has its path. Its content survives a stop.
type Registry struct {
	Host string // its address, the same after each start

	t   testing.TB
	dir string
	cmd *exec.Cmd
}

// Start starts an empty registry, and stops it when the test ends. If docker-registry is not
// installed, it skips the test, but not in continuous integration.
func Start(t testing.TB) *Registry {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a registry")
	}
	r := &Registry{Host: "127.0.0.1:0", t: t, dir: t.TempDir()}
	if _, err := exec.LookPath("docker-registry"); err != nil && os.Getenv("CI") == "" && distribution == "" {
		t.Skip("Debian's docker-registry is not installed")
	}
	r.Start()
	t.Cleanup(r.Stop)
	return r
}

// Stop kills the registry, as a crash would.
func (r *Registry) Stop() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}

// distribution is the path of CNCF distribution, or "" to use docker-registry.
var distribution = os.Getenv("KNACK_REGISTRY")

// Start starts a stopped registry again and returns once it listens.
func (r *Registry) Start() {
	r.t.Helper()
	config := "version: 0.1\nstorage: {delete: {enabled: true}, filesystem: {rootdirectory: '" + r.dir + "/data'}}\nhttp: {addr: '" + r.Host + "', secret: x}\n"
	file := filepath.Join(r.dir, "config.yml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		r.t.Fatal(err)
	}
	r.cmd = exec.Command("docker-registry", "serve", file)
	said := r.cmd.StderrPipe
	if distribution != "" {
		r.cmd = exec.Command(distribution, "-address", r.Host, "-folder", filepath.Join(r.dir, "data"))
		said = r.cmd.StdoutPipe
		if _, err := r.cmd.StdinPipe(); err != nil { // the program ends when its standard input closes
			r.t.Fatal(err)
		}
	}
	out, err := said()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := serving.FindStringSubmatch(lines.Text()); m != nil {
			r.Host = m[1]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return
		}
	}
	r.t.Fatal("the registry ended without an address")
}
