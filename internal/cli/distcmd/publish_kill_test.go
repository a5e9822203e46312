//go:build unix

package distcmd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestPublishKilled kills knack publish at random moments. It checks that each tag names a complete
// release, either the previous or the new one, which can be copied as a whole. The next publish
// must succeed. KNACK_KILLS is the number of killed commands.
func TestPublishKilled(t *testing.T) {
	testwait.Slow(t)
	registry := registrytest.Start(t)
	kills := 15
	if n, err := strconv.Atoi(os.Getenv("KNACK_KILLS")); err == nil {
		kills = n
	}
	dir := t.TempDir()
	binary := registrytest.Knack(t)
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Dir = dir
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		return cmd
	}
	must := func(args ...string) string {
		t.Helper()
		out, err := command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("knack %v: %v: %s", args, err, out)
		}
		return string(out)
	}
	write := func(round int) {
		for n := range 40 {
			if round > 0 && n%8 != round%8 {
				continue
			}
			name := fmt.Sprint("skill-", n)
			at := filepath.Join(dir, "lib", name, "SKILL.md")
			if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
				t.Fatal(err)
			}
			text := registrytest.Skill(name, strings.Repeat(fmt.Sprintln(round, n), 3000))
			if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	to := "oci://" + registry.Host + "/acme/skills"
	publish := []string{"publish", "./lib", to, "--tag", "one", "--tag", "two"}
	write(0)
	must(publish...)
	digest := func(out string) string {
		_, after, _ := strings.Cut(out, "  sha256:")
		d, _, _ := strings.Cut(after, "\n")
		return d
	}
	before, took, killed, moved := digest(must(append(publish, "--dry-run")...)), 200*time.Millisecond, 0, 0
	for i := range kills {
		write(i + 1)
		want := digest(must(append(publish, "--dry-run")...))
		cmd := command(publish...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		kill := time.AfterFunc(rand.N(took), func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
		if cmd.Wait() != nil {
			killed++
		}
		kill.Stop()
		for _, tag := range []string{"one", "two"} {
			at := digest(must("publish", to+":"+tag, to+":"+tag, "--dry-run"))
			if at != before && at != want {
				t.Errorf("the tag %s leads to %s, neither %s nor %s", tag, at, before, want)
			}
			if at == want {
				moved++
			}
			must("publish", to+":"+tag, fmt.Sprintf("oci://%s/copy/of%d:%s", registry.Host, i, tag))
		}
		began := time.Now()
		if got := digest(must(publish...)); got != want {
			t.Errorf("the next one published %s, want %s", got, want)
		}
		took = (3*took + time.Since(began)) / 4
		before = want
		if t.Failed() {
			t.Fatalf("the %d. command", i+1)
		}
	}
	entries, _ := os.ReadDir(filepath.Join(dir, ".cache", "knack", "tmp"))
	if len(entries) > 0 {
		t.Errorf("the last one left %v", entries)
	}
	t.Logf("%d of %d were killed; %d of %d tags had moved", killed, kills, moved, 2*kills)
}
