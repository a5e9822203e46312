package distcmd

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestMergeConflict checks the advice for a merge conflict in the lock, after two branches each
// added a skill to a new lock. The advice is to take one side of the lock and to add the skill of
// the other side again.
func TestMergeConflict(t *testing.T) {
	if testing.Short() {
		t.Skip("starts git")
	}
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	s := newShell(t)
	src, project := filepath.Join(s.dir, "src"), filepath.Join(s.dir, "p")
	git := func(args ...string) error {
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.com", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir, cmd.Env = project, append(os.Environ(), "GIT_CONFIG_GLOBAL=", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		t.Logf("git %s: %s", args, out)
		return err
	}
	must := func(args ...string) {
		t.Helper()
		if err := git(args...); err != nil {
			t.Fatalf("git %s: %v", args, err)
		}
	}
	add := func(skill string) string {
		t.Helper()
		stdout, stderr, status := s.run("add", src, "--skill", skill)
		if status != 0 {
			t.Fatalf("add %s: status %d: %s%s", skill, status, stdout, stderr)
		}
		return stdout
	}
	if err := os.RemoveAll(filepath.Join(project, ".git")); err != nil {
		t.Fatal(err)
	}
	must("init", "-q")
	s.put("p/README", "x")
	must("add", "-A")
	must("commit", "-q", "-m", "x")
	for branch, skill := range map[string]string{"theirs": "xlsx", "ours": "pdf"} {
		must("checkout", "-q", "-b", branch, "main")
		add(skill)
		must("add", "-A")
		must("commit", "-q", "-m", "x")
	}
	must("checkout", "-q", "ours")
	if git("merge", "-q", "theirs") == nil {
		t.Fatal("the merge has no conflict")
	}
	_, stderr, status := s.run("verify")
	fix := regexp.MustCompile(`\(git (.*?)\)`).FindStringSubmatch(stderr)
	if status != 3 || fix == nil || !strings.Contains(stderr, "conflict markers") {
		t.Fatalf("status %d: %s", status, stderr)
	}
	must(strings.Fields(fix[1])...)
	if out := add("xlsx"); !strings.Contains(out, "locked xlsx") {
		t.Errorf("add says %s", out)
	}
	if out, errs, status := s.run("verify"); status != 0 || !strings.Contains(out, "2 skills as locked") {
		t.Errorf("status %d: %s%s", status, out, errs)
	}
}
