//go:build unix

package contracttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// asNobody runs tests of this package in a process of an unprivileged user.
func asNobody(t *testing.T, tests string) {
	t.Helper()
	binary, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Skip("cannot run the tests as somebody else: ", err)
	}
	scratch := t.TempDir()
	for at := scratch; strings.Contains(at, t.Name()); at = filepath.Dir(at) {
		must(t, os.Chmod(at, 0o777))
	}
	exe := filepath.Join(scratch, "test")
	must(t, os.WriteFile(exe, binary, 0o755))
	cmd := exec.CommandContext(t.Context(), exe, "-test.run="+tests, "-test.v=true")
	cmd.Dir = scratch
	cmd.Env = []string{"TMPDIR=" + scratch}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	out = regexp.MustCompile(`(?m)^=== RUN .*\n`).ReplaceAll(out, nil)
	if err != nil || !strings.Contains(string(out), "--- PASS") || strings.Contains(string(out), "--- SKIP") {
		t.Errorf("%v\n%s", err, short(string(out)))
	}
}
