//go:build unix

package distcmd_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/test/registrytest"
	"github.com/knack-dev/knack/internal/test/testwait"
)

// TestKilled kills knack add, update, remove and sync at random moments. It checks that each skill
// is then complete, in the old or the new state. The lock must be readable and name only intended
// states, no temporary folder may be in the folders of agents, and no change by hand may be lost.
// The same command, run again, must finish the work. KNACK_KILLS is the number of killed commands.
func TestKilled(t *testing.T) {
	testwait.Slow(t)
	t.Run("folder", func(t *testing.T) { killOften(t, false, 15) })
	t.Run("git", func(t *testing.T) { killOften(t, true, 5) })
}

func killOften(t *testing.T, git bool, kills int) {
	if testing.Short() {
		t.Skip("builds knack, and starts it often")
	}
	if n, err := strconv.Atoi(os.Getenv("KNACK_KILLS")); err == nil {
		kills = n
	}
	w := newKillWorld(t, git)
	atWork, killed := map[string]int{}, 0
	for i := range kills {
		args, code := w.next(i)
		before := w.state()
		if w.killed(args) {
			killed++
			if diff := w.state(); diff != before {
				atWork[args[0]]++
			}
		}
		w.check(args, false)
		w.run(args, code)
		w.check(args, true)
		if t.Failed() {
			t.Fatalf("after knack %s, the %d. command", strings.Join(args, " "), i+1)
		}
	}
	t.Logf("%d of %d commands were killed; before that, add had changed something %d times, update %d, remove %d, sync %d", killed, kills, atWork["add"], atWork["update"], atWork["remove"], atWork["sync"])
	if kills >= 500 && len(atWork) < 4 {
		t.Error("some command was never killed at work")
	}
}

// killWorld is a project with a source whose skills change, and the states that each skill may
// have.
type killWorld struct {
	t                              *testing.T
	binary, home, project, library string
	versions                       map[string]map[string]bool // by skill, its states as texts
	edits                          []string                   // changes by hand, all different
	took                           time.Duration              // of a command that is not killed
	source                         string
	round                          int
}

const killSkills = 6

func newKillWorld(t *testing.T, git bool) *killWorld {
	dir := t.TempDir()
	w := &killWorld{t: t, binary: registrytest.Knack(t), home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), library: filepath.Join(dir, "library"), versions: map[string]map[string]bool{}}
	w.mkdir(w.home)
	w.mkdir(filepath.Join(w.project, ".git"))
	if w.source = "../library"; git {
		w.source = "git+file://" + w.library
		w.mkdir(w.library)
		w.git("init", "-q", "-b", "main")
	}
	for i := range killSkills {
		w.author(fmt.Sprint("skill-", i))
	}
	w.run([]string{"add", w.source, "--all"}, 0)
	return w
}

func (w *killWorld) mkdir(at string) {
	if err := os.MkdirAll(at, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

func (w *killWorld) write(at, text string) {
	w.mkdir(filepath.Dir(at))
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// author writes a new state of a skill in the library.
func (w *killWorld) author(name string) {
	w.round++
	at := filepath.Join(w.library, name)
	if err := os.RemoveAll(at); err != nil {
		w.t.Fatal(err)
	}
	w.write(filepath.Join(at, "SKILL.md"), fmt.Sprintf("---\nname: %s\ndescription: State %d.\n---\n", name, w.round))
	for i := range rand.IntN(20) {
		w.write(filepath.Join(at, "scripts", fmt.Sprint(i%3), fmt.Sprint(i)), strings.Repeat(fmt.Sprintln(w.round, i), 1+rand.IntN(2000)))
	}
	if w.versions[name] == nil {
		w.versions[name] = map[string]bool{}
	}
	w.versions[name][w.text(at)] = true
	if w.source != "../library" {
		w.git("add", "-A")
		w.git("-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "x")
	}
}

func (w *killWorld) git(args ...string) {
	cmd := exec.CommandContext(w.t.Context(), "git", append([]string{"-C", w.library, "-c", "gc.auto=0"}, args...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// text returns the files of a folder as one text.
func (w *killWorld) text(at string) string {
	var b bytes.Buffer
	err := fs.WalkDir(os.DirFS(at), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(at, path))
		fmt.Fprintf(&b, "%s %q\n", path, data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Error(err)
	}
	return b.String()
}

// state returns the content of the project.
func (w *killWorld) state() string { return w.text(w.project) }

// next changes the world. It returns a command, and its exit status if it is not killed.
func (w *killWorld) next(i int) (args []string, code int) {
	one := fmt.Sprint("skill-", rand.IntN(killSkills))
	place := filepath.Join(w.project, ".agents", "skills", one)
	overwrite := false
	if _, err := os.Stat(place); err == nil && rand.IntN(3) == 0 {
		edit := fmt.Sprintf("edit %d of a hand", i)
		w.edits = append(w.edits, edit)
		w.write(filepath.Join(place, "SKILL.md"), edit)
		w.versions[one][w.text(place)] = true
		overwrite = true
	}
	switch rand.IntN(4) {
	case 0:
		w.author(one)
		args = []string{"add", w.source, "--all"}
	case 1:
		w.author(fmt.Sprint("skill-", rand.IntN(killSkills)))
		w.author(one)
		args = []string{"update"}
	case 2:
		w.run([]string{"add", w.source, "--skill", one, "--overwrite"}, 0)
		args = []string{"remove", one}
	default:
		if !overwrite {
			if err := os.RemoveAll(place); err != nil {
				w.t.Fatal(err)
			}
		}
		args = []string{"sync"}
		if data, _ := os.ReadFile(filepath.Join(w.project, lockfile.Name)); !strings.Contains(string(data), ".agents") {
			args = []string{"add", w.source, "--all"} // every skill was removed
		}
	}
	return append(args, "--overwrite"), 0
}

func (w *killWorld) command(args []string) *exec.Cmd {
	cmd := exec.CommandContext(w.t.Context(), w.binary, args...)
	cmd.Dir = w.project
	cmd.Env = []string{"HOME=" + w.home, "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// killed starts a command and kills it and its children at a random moment. It reports whether the
// command was still running.
func (w *killWorld) killed(args []string) bool {
	cmd := w.command(args)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	if fetching := w.source != "../library"; (rand.IntN(4) == 0) != fetching { // at any moment; mostly while git works
		kill := time.AfterFunc(rand.N(w.took+time.Millisecond), func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
		defer kill.Stop()
		return cmd.Wait() != nil
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	beside := filepath.Join(w.project, ".agents", ".knack")
	for left := -1; left != 0; { // soon after the first write
		select {
		case err := <-ended:
			return err != nil
		default:
		}
		if _, err := os.Stat(beside); err == nil && left < 0 {
			left = 1 + rand.IntN(400)
		} else if left > 0 {
			left--
		}
	}
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	return <-ended != nil
}

// run runs a command until it ends, and checks the exit status. A remove may exit with 1, since its
// skill may be gone already.
func (w *killWorld) run(args []string, code int) {
	w.t.Helper()
	var cmd *exec.Cmd
	var out []byte
	var begun time.Time
	// A process that was killed while it started git stays alive, and keeps its lock, until git has
	// started.
	for i := 0; i == 0 || i < 1000 && bytes.Contains(out, []byte("another knack command is changing")); i++ {
		cmd, begun = w.command(args), time.Now()
		out, _ = cmd.CombinedOutput()
	}
	w.took = (w.took*3 + time.Since(begun)) / 4
	if got := cmd.ProcessState.ExitCode(); got != code && (got != 1 || args[0] != "remove") {
		w.t.Errorf("knack %s: status %d, want %d\n%s", strings.Join(args, " "), got, code, out)
	}
}

// check checks the files in the project after a command. done is set if the command was not killed.
func (w *killWorld) check(args []string, done bool) {
	w.t.Helper()
	skills := filepath.Join(w.project, ".agents", "skills")
	entries, err := os.ReadDir(skills)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Error(err)
	}
	for _, e := range entries {
		if states := w.versions[e.Name()]; states == nil {
			w.t.Errorf("%s is below the folder that agents read", e.Name())
		} else if text := w.text(filepath.Join(skills, e.Name())); !states[text] {
			w.t.Errorf("%s is torn:\n%.300s", e.Name(), text)
		}
	}
	data, err := os.ReadFile(filepath.Join(w.project, lockfile.Name))
	if err != nil {
		w.t.Fatal(err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		w.t.Fatal(err)
	}
	for key, e := range lock.Skills {
		if want := lockfile.Digest(e.Files); e.Digest != want || key != ".agents/skills/"+e.Name {
			w.t.Errorf("%s: the lock is not true", key)
		}
	}
	if done {
		w.checkDone(skills, lock)
	}
}

// checkDone checks the files in the project after a command that was not killed.
func (w *killWorld) checkDone(skills string, lock *lockfile.Lock) {
	w.t.Helper()
	cmd := w.command([]string{"verify"})
	if out, err := cmd.CombinedOutput(); err != nil && len(lock.Skills) > 0 {
		w.t.Errorf("knack verify: %v\n%s", err, out)
	}
	for _, at := range []string{filepath.Join(w.project, ".agents", ".knack"), filepath.Join(w.home, ".cache", "knack", "tmp")} {
		if entries, _ := os.ReadDir(at); len(entries) > 0 {
			w.t.Errorf("%s still has %v", at, entries)
		}
	}
	names, _ := os.ReadDir(w.project)
	if got := slices.DeleteFunc(names, func(e fs.DirEntry) bool {
		return slices.Contains([]string{".git", ".agents", lockfile.Name}, e.Name())
	}); len(got) > 0 {
		w.t.Errorf("left in the project: %v", got)
	}
	texts := w.text(filepath.Join(w.home, ".local", "state", "knack", "kept"))
	for name := range maps.Keys(w.versions) {
		texts += w.text(filepath.Join(skills, name))
	}
	for _, edit := range w.edits {
		if !strings.Contains(texts, strconv.Quote(edit)) {
			w.t.Errorf("%q is lost", edit)
		}
	}
	w.edits = nil // each was searched for
}
