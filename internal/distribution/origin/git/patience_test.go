package git

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestLimit checks that a request to a server that never finishes ends after the limit, with git's
// children.
func TestLimit(t *testing.T) {
	t.Parallel()
	u := newUpstream(t)
	server := u.serve(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/x-git-upload-pack-advertisement")
		fmt.Fprint(w, "001e# service=git-upload-pack\n0000")
		w.(http.Flusher).Flush()
		<-r.Context().Done() // the server is closed when git's helper has closed its connection
		return true
	})
	g := u.origin(func(o *Options) { o.limit = 300 * time.Millisecond })
	if _, err := g.Resolve(t.Context(), server.ref("main")); !errors.Is(err, errLate) {
		t.Error(err)
	}
}

// TestSSH checks that ssh gives up on a silent server, and does not prompt without a terminal. A
// program that the user has set gets no options.
func TestSSH(t *testing.T) {
	u := newUpstream(t)
	if _, err := exec.LookPath("ssh"); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatal("ssh is not installed")
		}
		t.Skip("ssh is not installed")
	}
	for _, terminal := range []bool{false, true} {
		s, err := u.origin(func(o *Options) { o.Terminal = terminal }).start()
		if err != nil {
			t.Fatal(err)
		}
		command := ""
		for _, v := range s.env {
			if c, ok := strings.CutPrefix(v, "GIT_SSH_COMMAND="); ok {
				command = c
			}
		}
		out, err := exec.Command("sh", "-c", command+" -F none -G host.example").Output()
		if err != nil {
			t.Fatal(command, err)
		}
		batch := "batchmode yes"
		if terminal {
			batch = "batchmode no"
		}
		lines := strings.Split(string(out), "\n")
		for _, want := range []string{"connecttimeout 30", "serveraliveinterval 15", "serveralivecountmax 2", batch} {
			if !slices.Contains(lines, want) {
				t.Errorf("terminal %v: %s has no %q", terminal, command, want)
			}
		}
	}
	s, err := u.origin(func(o *Options) { o.Env = append(o.Env, "GIT_SSH_COMMAND=plink") }).start()
	if err != nil || !slices.Contains(s.env, "GIT_SSH_COMMAND=plink") || slices.ContainsFunc(s.env, func(v string) bool { return strings.Contains(v, sshCommand) }) {
		t.Error(err, s)
	}
}
