package install_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// request plans an update.
func (w *world) request(q install.UpdateRequest) *install.Plan {
	w.t.Helper()
	p, err := w.planUpdate(w.options(), q)
	must(w.t, err)
	return p
}

// lock returns the project's lock.
func (w *world) lock() *lockfile.Lock {
	w.t.Helper()
	data, err := os.ReadFile(filepath.Join(w.project(), lockfile.Name))
	must(w.t, err)
	l, err := lockfile.Parse(data)
	must(w.t, err)
	return l
}

// TestCommitGone checks sync of a skill whose locked commit is gone upstream. The error names the
// command that installs the present commit, and that command works. The test adds the skill in each
// possible way.
func TestCommitGone(t *testing.T) {
	w := newWorld(t, "git")
	repo := strings.TrimPrefix(w.source, "git+file://")
	git := func(args ...string) string {
		t.Helper()
		out, err := exec.Command("git", append([]string{"-C", repo, "-c", "user.name=a", "-c", "user.email=a@example.com"}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %s: %v %s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	w.publish(old)
	git("branch", "-M", "work")
	commit := git("rev-parse", "HEAD")
	add := func(source string, q install.Request) {
		t.Helper()
		q.Sources = []string{source}
		p, err := w.planAdd(w.options(), q)
		must(t, err)
		if p.Outcome() != install.Done {
			t.Fatalf("%s: %+v", source, p.Steps[0].Problem)
		}
	}
	ways := []struct {
		name, at string
		pin      bool
		fix      string
	}{
		{"branch", "@work", false, "knack update pdf takes the source's present files"},
		{"pinned", "@work", true, "knack update pdf --unpin takes the source's present files"},
		{"commit", "@" + commit, false, "knack add " + w.source + " --skill skills/pdf takes the source's present files"},
	}
	for _, c := range ways {
		add(w.source+c.at, install.Request{Pin: c.pin})
		must(t, os.WriteFile(filepath.Join(w.dir, c.name), []byte(files(t, w.project())[lockfile.Name]), 0o644))
	}

	// A commit cannot be unpinned, and the problem has a fix.
	p := w.request(install.UpdateRequest{})
	if s := p.Steps[0]; s.Do != install.Pinned || p.Outcome() != install.Done {
		t.Errorf("update of a commit: %+v", s)
	}
	p = w.request(install.UpdateRequest{Unpin: true})
	if s := p.Steps[0]; s.Do != install.Leave || p.Outcome() != install.No || s.Problem.Fix != "knack add "+w.source+" --skill skills/pdf follows the source from now on" {
		t.Errorf("update --unpin of a commit: %+v %v", s, s.Problem)
	}

	w.publish(newer)
	git("checkout", "-q", "--orphan", "other")
	git("commit", "-q", "-m", "all anew")
	git("branch", "-q", "-D", "work")
	git("branch", "-q", "-M", "work")
	git("reflog", "expire", "--expire=now", "--all")
	git("gc", "-q", "--prune=now")
	for _, c := range ways {
		data, err := os.ReadFile(filepath.Join(w.dir, c.name))
		must(t, err)
		must(t, os.RemoveAll(filepath.Join(w.project(), ".agents")))
		must(t, os.RemoveAll(filepath.Join(w.dir, "store")))
		must(t, os.WriteFile(filepath.Join(w.project(), lockfile.Name), data, 0o644))
		p, err := w.sync(w.options())
		must(t, err)
		if s := p.Steps[0]; s.Do != install.Fail || !strings.Contains(s.Problem.Error(), "does not have this commit any more") || !strings.HasPrefix(s.Problem.Fix, c.fix) {
			t.Fatalf("%s: %s: %v: %s", c.name, s.Do, s.Problem, s.Problem.Fix)
		}
		if c.name == "commit" {
			add(w.source, install.Request{Skills: []string{"skills/pdf"}})
		} else if p := w.request(install.UpdateRequest{Skills: []string{"pdf"}, Unpin: c.name == "pinned"}); p.Outcome() != install.Done {
			t.Errorf("%s: update: %+v", c.name, p.Steps[0].Problem)
		}
		e := w.lock().Skills[".agents/skills/pdf"]
		if got := files(t, w.place()); got["SKILL.md"] != newer["SKILL.md"] || e.Pinned || e.Want == commit {
			t.Errorf("%s: not updated: %+v", c.name, e)
		}
	}
}

// TestBranchGone checks update of a skill whose branch is gone upstream. The error names the
// command that follows the present default branch.
func TestBranchGone(t *testing.T) {
	w := newWorld(t, "git")
	w.publish(old)
	repo, source := strings.TrimPrefix(w.source, "git+file://"), w.source
	must(t, exec.Command("git", "-C", repo, "branch", "work").Run())
	w.source += "@work"
	_, err := w.add(w.options())
	must(t, err)
	must(t, exec.Command("git", "-C", repo, "branch", "-D", "work").Run())
	s := w.request(install.UpdateRequest{}).Steps[0]
	if s.Do != install.Fail || !strings.Contains(s.Problem.Error(), "has no branch or tag 'work'") || s.Problem.Fix != "knack add "+source+" --skill skills/pdf follows the source from now on" {
		t.Errorf("%s: %v: %s", s.Do, s.Problem, s.Problem.Fix)
	}
}

// TestSkillGone checks that update reports and keeps a skill that is gone upstream. The outcome is
// neither a failure nor an update, since no command could bring the skill back.
func TestSkillGone(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	must(t, os.Rename(filepath.Join(w.dir, "source", "skills", "pdf"), filepath.Join(w.dir, "away")))
	before := files(t, w.project())
	for _, check := range []bool{false, true} {
		p := w.request(install.UpdateRequest{Check: check})
		s := p.Steps[0]
		if s.Do != install.Gone || p.Outcome() != install.Done || len(s.Warnings) != 1 || !strings.HasSuffix(s.Warnings[0], "it stays as it is, and knack remove pdf removes it") {
			t.Errorf("check %v: %+v", check, s)
		}
	}
	if after := files(t, w.project()); len(after) != len(before) {
		t.Errorf("it was not kept: %v", after)
	}
	// The skill can be removed, but not restored.
	must(t, os.RemoveAll(w.place()))
	must(t, os.RemoveAll(filepath.Join(w.dir, "store")))
	p, err := w.sync(w.options())
	must(t, err)
	if s := p.Steps[0]; s.Do != install.Fail || !strings.HasPrefix(s.Problem.Fix, "knack remove pdf drops it from the lock") {
		t.Errorf("sync: %+v %v", s, s.Problem)
	}
}
