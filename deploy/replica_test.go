//go:build linux

package deploy

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// replica is a real knack server that follows a source.
type replica struct {
	*testing.T
	dir string // with its settings, its store and its logs
	url string // without a path

	cmd *exec.Cmd
	mu  sync.Mutex
	log strings.Builder
}

// newReplica writes the settings of a replica, but does not start it.
func newReplica(t *testing.T, from, more string) *replica {
	t.Helper()
	r := &replica{T: t, dir: t.TempDir()}
	put(t, filepath.Join(r.dir, "knack.yaml"), "sources:\n  - name: acme\n    from: "+from+"\n"+more+
		"store: {dir: state/store}\naudit: {to: audit.log}\nlimits: {rate: 0}\nlog: {format: json}\n")
	// The state folder is a link, as systemd makes it for a service with DynamicUser.
	must(t, os.MkdirAll(filepath.Join(r.dir, "private", "state"), 0o700))
	must(t, os.Symlink(filepath.Join("private", "state"), filepath.Join(r.dir, "state")))
	t.Cleanup(r.kill)
	return r
}

// start starts the replica at a free port, and returns when the replica listens.
func (r *replica) start() {
	r.Helper()
	r.cmd = exec.Command("sh", "-c", `umask 077; exec "$@"`, "sh", knack(r.T), "serve", "--no-builtin", "--no-auth", "--http", "127.0.0.1:0", "--config", filepath.Join(r.dir, "knack.yaml"))
	// A read-only container has no folder for temporary files.
	r.cmd.Env = []string{"HOME=" + r.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(r.dir, "no-such-folder")}
	r.cmd.Dir = r.dir
	said, err := r.cmd.StderrPipe()
	must(r.T, err)
	must(r.T, r.cmd.Start())
	lines := bufio.NewScanner(said)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		r.note(lines.Text())
		if i := strings.Index(lines.Text(), "http://"); i >= 0 && strings.Contains(lines.Text(), "knack serves MCP") {
			r.url, _, _ = strings.Cut(lines.Text()[i:], "/mcp")
			go func() {
				for lines.Scan() {
					r.note(lines.Text())
				}
			}()
			return
		}
	}
	_ = r.cmd.Wait()
	r.Fatalf("the replica does not start:\n%s", r.said())
}

func (r *replica) note(line string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log.WriteString(line + "\n")
}

// said returns the replica's log so far.
func (r *replica) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// kill ends the replica abruptly, as a crash would.
func (r *replica) kill() {
	if r.cmd != nil {
		_ = r.cmd.Process.Kill()
		_ = r.cmd.Wait()
		r.cmd = nil
	}
}
