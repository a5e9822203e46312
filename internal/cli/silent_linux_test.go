package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/testwait"
)

// mountSilent mounts a file system that answers no calls, such as one of a server that is gone. No
// program reads the FUSE requests.
func mountSilent(t *testing.T, at string) {
	t.Helper()
	fd, err := unix.Open("/dev/fuse", unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("there is no FUSE: ", err)
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=%d,group_id=%d", fd, os.Getuid(), os.Getgid())
	if err := unix.Mount("silent", at, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		_ = unix.Close(fd)
		t.Skip("this user may not mount: ", err)
	}
	t.Cleanup(func() {
		_ = unix.Unmount(at, unix.MNT_DETACH)
		_ = unix.Close(fd) // ends the calls that wait
	})
}

// TestSilentDisk checks that commands and the server still offer the skills of all other folders if
// one disk does not answer. The disk has the home folder of an agent or of the user, a folder of
// skills, or one skill. The output must name the root.
func TestSilentDisk(t *testing.T) {
	testwait.Slow(t)
	for name, c := range map[string]struct {
		silent string // the silent folder, below the test's
		link   string // a link to the silent folder
		vars   []string
		label  string // the label of the root that does not answer
	}{
		"agent": {silent: "home/.claude", label: "claude-user"},
		"root":  {silent: "home/.claude/skills", label: "claude-user"},
		"moved": {silent: "net", vars: []string{"CODEX_HOME=TOP/net"}, label: "codex-user"},
		"skill": {silent: "net", link: "home/.claude/skills/linked", label: "claude-user"},
		"home":  {silent: "home", vars: []string{"XDG_CONFIG_HOME=TOP/config"}, label: "agents-user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			top := t.TempDir()
			project := filepath.Join(top, "p")
			for _, folder := range []string{c.silent, "config", "home/.qwen/skills/two", "p/.agents/skills/one", filepath.Dir("x/" + c.link)} {
				if err := os.MkdirAll(filepath.Join(top, strings.TrimPrefix(folder, "x/")), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			for _, at := range []string{"home/.qwen/skills/two", "p/.agents/skills/one"} {
				text := fmt.Sprintf("---\nname: %s\ndescription: Does it.\n---\nThe text.\n", filepath.Base(at))
				if err := os.WriteFile(filepath.Join(top, at, "SKILL.md"), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if c.link != "" {
				if err := os.Symlink(filepath.Join(top, c.silent), filepath.Join(top, c.link)); err != nil {
					t.Fatal(err)
				}
			}
			mountSilent(t, filepath.Join(top, c.silent))
			served := []string{"one"}
			if c.silent != "home" {
				served = append(served, "two")
			}
			run := func(stdin io.Reader, args ...string) (out, errs string) {
				t.Helper()
				ctx, stop := context.WithTimeout(t.Context(), 2*testwait.Patience)
				defer stop()
				cmd := exec.CommandContext(ctx, "knack", args...)
				cmd.WaitDelay = time.Second
				var stdout, stderr bytes.Buffer
				cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = project, stdin, &stdout, &stderr
				cmd.Env = append(os.Environ(), "HOME="+filepath.Join(top, "home"), "XDG_CONFIG_HOME=", "XDG_CACHE_HOME="+filepath.Join(top, "cache"), "XDG_STATE_HOME="+filepath.Join(top, "state"))
				for _, v := range c.vars {
					cmd.Env = append(cmd.Env, strings.ReplaceAll(v, "TOP", top))
				}
				if err := cmd.Run(); err != nil {
					t.Errorf("%s: %v\n%s%s", args, err, &stdout, &stderr)
				}
				return stdout.String(), stderr.String()
			}
			for _, args := range [][]string{{"list"}, {"list", "--json"}, {"doctor", "--all"}, {"connect"}} {
				out, errs := run(nil, args...)
				for _, name := range served {
					if args[0] != "connect" && !strings.Contains(out, name) {
						t.Errorf("%s does not have the skill %s:\n%s%s", args, name, out, errs)
					}
				}
				if args[0] != "connect" && !strings.Contains(errs, "the disk does not answer") {
					t.Errorf("%s does not warn:\n%s", args, errs)
				}
				if len(args) == 2 && !strings.Contains(out, c.label) && !strings.Contains(out, " roots below ~: its disk") {
					t.Errorf("%s does not name %s:\n%s", args, c.label, out)
				}
			}
			calls := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"skill","arguments":{"name":"one"}}}
`
			out, errs := run(strings.NewReader(calls), "serve")
			if !strings.Contains(out, "The text.") || !strings.Contains(out, c.label) {
				t.Errorf("the server does not load the skill, or does not name %s:\n%s%s", c.label, out, errs)
			}
		})
	}
}
