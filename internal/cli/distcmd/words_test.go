package distcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestWords checks that messages have paths in short form, and that the commands in them are for
// the same lock.
func TestWords(t *testing.T) {
	s := newShell(t)
	s.put("q/.git/x", "")
	src, q := filepath.Join(s.dir, "src"), filepath.Join(s.dir, "q")
	run := func(want int, say string, args ...string) {
		t.Helper()
		stdout, stderr, status := s.run(args...)
		if status != want || !strings.Contains(stdout+stderr, say) {
			t.Errorf("%s: status %d, want %d, %q: %s%s", args, status, want, say, stdout, stderr)
		}
		if text := strings.ReplaceAll(strings.ReplaceAll(stdout+stderr, src, ""), q, ""); strings.Contains(text, s.dir) {
			t.Errorf("%s: %s", args, text)
		}
	}
	run(1, "there is no knack.lock in the working directory", "verify")
	run(1, "there is no knack.lock in ~/.agents", "verify", "--global")
	run(3, "there is no folder 'none'", "add", "./none")
	run(3, "there is no folder '~/none'", "add", "../home/none")
	run(3, "there is no file '~/none.zip'", "add", "../home/none.zip")
	s.put("home/.cache/knack", "")
	run(3, "~/.cache/knack", "add", src, "--all")
	if err := os.Remove(filepath.Join(s.dir, "home/.cache/knack")); err != nil {
		t.Fatal(err)
	}
	for _, flags := range [][]string{nil, {"--global"}, {"--project", q}} {
		with := func(args ...string) []string { return append(args, flags...) }
		tail := strings.Join(append([]string{""}, flags...), " ")
		run(0, "added pdf", with("add", src, "--all")...)
		run(1, "names no skill 'nothing'", with("verify", "nothing")...)
		place := map[int]string{0: "p/.agents/skills", 1: "home/.agents/skills", 2: "q/.agents/skills"}[len(flags)]
		if err := os.RemoveAll(filepath.Join(s.dir, place, "pdf")); err != nil {
			t.Fatal(err)
		}
		run(1, "knack sync"+tail+" restores it", with("verify")...)
		s.put(place+"/pdf", "")
		run(1, "then run knack sync"+tail, with("verify")...)
		s.put(place+"/xlsx/SKILL.md", "mine")
		run(1, "knack sync xlsx --overwrite"+tail+" restores it", with("verify")...)
	}
	s.put("p/knack.lock", "{")
	run(3, "knack.lock:1:2: ", "sync")
	s.put("home/.agents/knack.lock", "{")
	run(3, "~/.agents/knack.lock:1:2: ", "sync", "--global")
}

// TestOtherLock checks that a folder outside the project gets a separate lock, and that add reports
// the lock and the flag for other commands.
func TestOtherLock(t *testing.T) {
	s := newShell(t)
	src := filepath.Join(s.dir, "src")
	for to, project := range map[string]string{"home/plain": "~/plain", "home/repo/deep/skills": "~/repo"} {
		s.put("home/repo/.git/x", "")
		_, stderr, status := s.run("add", src, "--skill", "pdf", "--to", filepath.Join(s.dir, to))
		if want := "so " + project + "/knack.lock records it: knack verify --project " + project + ", and update"; status != 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d: %s", to, status, stderr)
		}
		at := filepath.Join(s.dir, "home", strings.TrimPrefix(project, "~"))
		if stdout, stderr, status := s.run("verify", "--project", at); status != 0 || !strings.Contains(stdout, "1 skill as locked") {
			t.Errorf("%s: status %d: %s%s", to, status, stdout, stderr)
		}
	}
	for _, to := range []string{"p/.claude/skills", "p/x"} {
		if _, stderr, status := s.run("add", src, "--skill", "pdf", "--to", filepath.Join(s.dir, to)); status != 0 || strings.Contains(stderr, "records it") {
			t.Errorf("%s: status %d: %s", to, status, stderr)
		}
	}
}
