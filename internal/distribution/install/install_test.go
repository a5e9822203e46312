package install_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// TestNoNewsNoWrites checks that commands without changes write nothing: every file and folder of
// the project, including the lock, keeps its inode and times.
func TestNoNewsNoWrites(t *testing.T) {
	for kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t, kind)
			w.publish(old)
			_, err := w.add(w.options())
			must(t, err)
			before := stamps(t, w.project())
			for name, again := range map[string]func(install.Options) (*install.Plan, error){"add": w.add, "sync": w.sync, "update": w.update} {
				p, err := again(w.options())
				if err != nil || p.Outcome() != install.Done || p.Steps[0].Do != install.Nothing {
					t.Errorf("%s: %v %+v", name, err, p.Steps[0])
				}
				if diff := cmp.Diff(before, stamps(t, w.project())); diff != "" {
					t.Errorf("%s: %s", name, diff)
				}
			}
		})
	}
}

// TestOffline checks that sync without a network restores a deleted project from the store. No
// request is sent, even if the store is gone.
func TestOffline(t *testing.T) {
	w := newWorld(t, "well-known")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	before := asked.Load()
	must(t, os.RemoveAll(filepath.Join(w.project(), ".agents")))
	o := w.options()
	o.Offline = true
	p, err := w.sync(o)
	if err != nil || p.Outcome() != install.Done {
		t.Errorf("%v %v", err, p)
	}
	if diff := cmp.Diff(old, files(t, w.place())); diff != "" {
		t.Error(diff)
	}
	must(t, os.RemoveAll(filepath.Join(w.project(), ".agents")))
	must(t, filepath.WalkDir(filepath.Join(w.dir, "store"), func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			err = os.Chmod(path, 0o755)
		}
		return err
	}))
	must(t, os.RemoveAll(filepath.Join(w.dir, "store")))
	for name, command := range map[string]func(install.Options) (*install.Plan, error){"sync": w.sync, "update": w.update, "add": w.add} {
		p, err := command(o)
		if err != nil || p.Outcome() != install.Failed || !strings.Contains(p.Steps[0].Problem.Error(), "offline") {
			t.Errorf("%s without a store: %v %+v", name, err, p)
		}
	}
	if n := asked.Load() - before; n != 0 {
		t.Errorf("the server was asked %d times", n)
	}
	if p, err := w.sync(w.options()); err != nil || p.Outcome() != install.Done || asked.Load() == before {
		t.Errorf("online: %v %+v", err, p)
	}
}

// TestAddAsksOnce checks that add requests the index of a site and an archive only once each.
func TestAddAsksOnce(t *testing.T) {
	w := newWorld(t, "well-known")
	w.publish(old)
	before := asked.Load()
	_, err := w.add(w.options())
	must(t, err)
	if n := asked.Load() - before; n != 2 {
		t.Errorf("the server was asked %d times, not twice", n)
	}
}

// TestEditorSaves checks that an update loses no file that an editor saves meanwhile. Afterwards,
// the file is in place or kept. KNACK_SAVES sets the number of saves; the long form has 1,000.
func TestEditorSaves(t *testing.T) {
	saves := 40
	if n, err := strconv.Atoi(os.Getenv("KNACK_SAVES")); err == nil {
		saves = n
	} else if testing.Short() {
		saves = 4
	}
	for how, save := range map[string]func(path, text string) error{
		"renames": func(path, text string) error { // as vim, VS Code and most others
			temp := path + "~"
			return errors.Join(os.WriteFile(temp, []byte(text), 0o644), os.Rename(temp, path))
		},
		"truncates": func(path, text string) error { return os.WriteFile(path, []byte(text), 0o644) },
	} {
		t.Run(how, func(t *testing.T) {
			w := newWorld(t, "folder")
			w.publish(old)
			_, err := w.add(w.options())
			must(t, err)
			preserved, took := 0, 10*time.Millisecond // of an update
			for i := range saves {
				w.publish(skillFiles(fmt.Sprint("version ", i)))
				text := fmt.Sprint("saved ", i)
				path := filepath.Join(w.place(), "notes.txt")
				if i%2 == 0 {
					path = filepath.Join(w.place(), "SKILL.md")
				}
				var wg sync.WaitGroup
				saved := errors.New("not saved")
				begun, moment := time.Now(), rand.N(took)
				wg.Go(func() {
					for time.Since(begun) < moment {
						runtime.Gosched()
					}
					saved = save(path, text)
				})
				p, err := w.update(w.options())
				took = (3*took + time.Since(begun)) / 4
				wg.Wait()
				must(t, err)
				found := slices.Contains(slices.Collect(maps.Values(files(t, w.place()))), text)
				for _, s := range p.Steps {
					if s.Kept != "" {
						preserved++
					}
				}
				found = found || slices.Contains(slices.Collect(maps.Values(files(t, w.backups()))), text)
				if saved == nil && !found {
					t.Fatalf("%d: what the editor saved is lost: %+v", i, p.Steps[0])
				}
				over := w.options()
				over.Overwrite = true
				_, err = w.sync(over)
				must(t, err)
				must(t, os.RemoveAll(filepath.Join(w.backups())))
			}
			t.Logf("%d saves, %d kept by the update", saves, preserved)
		})
	}
}

// TestTwoCommands checks that a second command on the same project fails with a hint. If another
// program changes the lock meanwhile, the changes are merged, or the command reports a conflict.
func TestTwoCommands(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	unlock, err := edit.Lock(w.options().Guard)
	must(t, err)
	_, err = w.add(w.options())
	var p *install.Problem
	if !errors.As(err, &p) || !p.No || !strings.Contains(p.Error(), "another knack command") {
		t.Fatalf("the second command: %v", err)
	}
	unlock()

	mine := []lockfile.File{{Path: "SKILL.md"}}
	other := lockfile.Skill{Name: "other", Source: "github.com/acme/skills", Path: "other", Digest: lockfile.Digest(mine), Files: mine}
	write := func(key string) {
		l := lockfile.Lock{Skills: map[string]lockfile.Skill{key: other}}
		must(t, os.WriteFile(filepath.Join(w.project(), lockfile.Name), l.Bytes(), 0o644))
	}
	add := func(key string) error {
		_, err := w.run(w.options(), func(ctx context.Context, in *install.Installer) (*install.Plan, error) {
			plan, err := in.PlanAdd(ctx, install.Request{Sources: []string{w.source}})
			write(key)
			return plan, err
		})
		return err
	}
	must(t, add(".agents/skills/other"))
	l, err := lockfile.Parse([]byte(files(t, w.project())[lockfile.Name]))
	if err != nil || len(l.Skills) != 2 {
		t.Errorf("of two programs: %v, %v", l, err)
	}
	must(t, os.RemoveAll(w.project()))
	must(t, os.MkdirAll(w.project(), 0o755))
	if err := add(".agents/skills/pdf"); !errors.As(err, &p) || !p.No || !strings.Contains(p.Error(), "meanwhile") {
		t.Errorf("of two programs with one skill: %v", err)
	}
}

// TestLinksInTheWay checks that add writes no file through a link that leads out of the project,
// and replaces no link.
func TestLinksInTheWay(t *testing.T) {
	for _, at := range []string{".agents", ".agents/skills", ".agents/skills/pdf"} {
		for _, over := range []bool{false, true} {
			w := newWorld(t, "folder")
			w.publish(old)
			outside := filepath.Join(w.dir, "outside")
			put(t, outside, map[string]string{"mine": "mine"})
			link := filepath.Join(w.project(), filepath.FromSlash(at))
			must(t, os.MkdirAll(filepath.Dir(link), 0o755))
			if err := os.Symlink(outside, link); err != nil {
				t.Skip(err)
			}
			o := w.options()
			o.Overwrite = over
			p, err := w.add(o)
			must(t, err)
			if p.Outcome() != install.No || !strings.Contains(p.Steps[0].Problem.Error(), "link") {
				t.Errorf("%s: %+v", at, p.Steps[0].Problem)
			}
			if got := files(t, outside); len(got) != 1 || len(files(t, w.project())) != 1 {
				t.Errorf("%s: outside there is %v, inside %v", at, got, files(t, w.project()))
			}
		}
	}
	// A link within the project is fine.
	w := newWorld(t, "folder")
	w.publish(old)
	must(t, os.MkdirAll(filepath.Join(w.project(), "claude"), 0o755))
	if err := os.Symlink("claude", filepath.Join(w.project(), ".agents")); err != nil {
		t.Skip(err)
	}
	p, err := w.add(w.options())
	if err != nil || p.Outcome() != install.Done || files(t, w.project())["claude/skills/pdf/empty"] != "" {
		t.Errorf("%v %+v", err, p)
	}
	if _, err := os.Stat(filepath.Join(w.project(), "claude", ".knack")); err == nil {
		t.Error("the folder for new trees is left")
	}
}

// TestNothingBelowGit checks that no lock or link in a clone makes knack write a skill into the
// .git folder. Git would run one of the files there.
func TestNothingBelowGit(t *testing.T) {
	for _, key := range []string{".git/hooks", ".GIT/hooks", "sub/.git/hooks", "way/hooks", "way/x/pdf", "way2/hooks"} {
		for _, command := range []string{"sync", "add"} {
			w := newWorld(t, "folder")
			w.publish(with(old, "post-checkout.sh", "echo"))
			_, err := w.add(w.options())
			must(t, err)
			l, err := lockfile.Parse([]byte(files(t, w.project())[lockfile.Name]))
			must(t, err)
			must(t, os.RemoveAll(w.place()))
			must(t, os.MkdirAll(filepath.Join(w.project(), ".git"), 0o755))
			// Some disks treat a name with an unseen character like the same name without it.
			unseen := ".g\u200cit"
			must(t, os.MkdirAll(filepath.Join(w.project(), unseen), 0o755))
			for way, to := range map[string]string{"way": ".git", "way2": unseen} {
				if err := os.Symlink(to, filepath.Join(w.project(), way)); err != nil {
					t.Skip(err)
				}
			}
			e := l.Skills[".agents/skills/pdf"]
			must(t, os.WriteFile(filepath.Join(w.project(), lockfile.Name), (&lockfile.Lock{Skills: map[string]lockfile.Skill{key: e}}).Bytes(), 0o644))
			before := files(t, w.project())
			o := w.options()
			o.Overwrite = true
			run := w.sync
			if command == "add" {
				o.To = filepath.Join(w.project(), filepath.FromSlash(key))
				run = w.add
			}
			p, err := run(o)
			if err == nil && p.Outcome() == install.Done {
				t.Errorf("%s to %s is done", command, key)
			}
			if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
				t.Errorf("%s to %s: %s", command, key, diff)
			}
		}
	}
}

// TestTwins checks skills with one name and different files. They cause one refusal, which tells
// how to choose. The other skills are installed.
func TestTwins(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	root := filepath.Join(w.dir, "source")
	put(t, root, map[string]string{"b/pdf/SKILL.md": old["SKILL.md"], "c/SKILL.md": strings.Replace(old["SKILL.md"], "pdf", "c", 1), "d/SKILL.md": strings.Replace(old["SKILL.md"], "pdf", "'D e'", 1)})
	p, err := w.planAdd(w.options(), install.Request{Sources: []string{w.source}, All: true})
	must(t, err)
	var got []string
	for _, s := range p.Steps {
		line := fmt.Sprint(s.Key, " ", s.Do)
		if s.Problem != nil {
			line = fmt.Sprint(s.Name, ": ", s.Problem.Err, "; ", s.Problem.Fix)
		}
		got = append(got, line)
	}
	want := []string{"pdf: 2 skills of " + w.source + " have this name, and their files differ: b/pdf, skills/pdf; none of them is installed; choose one by its folder: --skill b/pdf", ".agents/skills/c added", ".agents/skills/d added"}
	if diff := cmp.Diff(want, got); diff != "" || p.Outcome() != install.No {
		t.Error(diff, p.Outcome())
	}
	for _, q := range []install.Request{{Sources: []string{w.source}, Skills: []string{"pdf"}}, {Sources: []string{w.source}, Skills: []string{"none"}}} {
		p, err := w.planAdd(w.options(), q)
		if err != nil || p.Outcome() != install.No {
			t.Errorf("%+v: %v %v", q, p, err)
		}
	}
	p, err = w.planAdd(w.options(), install.Request{Sources: []string{w.source}, Skills: []string{"b/pdf"}})
	if err != nil || p.Outcome() != install.Done || p.Steps[0].Entry.Path != "b/pdf" {
		t.Errorf("%v %v", p, err)
	}
}

// TestDamagedLock checks that the error of an unreadable lock has the position of the fault, and
// that nothing is written.
func TestDamagedLock(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	path := filepath.Join(w.project(), lockfile.Name)
	for _, text := range []string{"", "{", "<<<<<<< HEAD\n{}\n=======\n", `{"lockVersion": 2, "skills": {}}`, "\xff"} {
		must(t, os.WriteFile(path, []byte(text), 0o644))
		for _, command := range []func(install.Options) (*install.Plan, error){w.add, w.sync, w.update, w.remove} {
			_, err := command(w.options())
			var p *install.Problem
			if !errors.As(err, &p) || p.No || p.Fix == "" || !strings.Contains(p.Error(), "knack.lock:") {
				t.Errorf("%q: %v", text, err)
			}
		}
		if diff := cmp.Diff(map[string]string{lockfile.Name: text}, files(t, w.project())); diff != "" {
			t.Error(diff)
		}
	}
	must(t, os.Remove(path))
	if err := os.Symlink("elsewhere", path); err != nil {
		t.Skip(err)
	}
	if _, err := w.add(w.options()); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Errorf("a link: %v", err)
	}
	must(t, os.Remove(path))
	must(t, os.WriteFile(filepath.Join(w.project(), ".agents"), []byte("mine"), 0o644))
	if p, err := w.add(w.options()); err != nil || !strings.Contains(p.Steps[0].Problem.Error(), "a file is in the place of a folder") {
		t.Errorf("a file for a folder: %v %+v", err, p)
	}
}

// TestNotKept checks that files changed by hand stay in place if they cannot be kept.
func TestNotKept(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	put(t, w.place(), map[string]string{"SKILL.md": "mine"})
	before := files(t, w.project())
	file := filepath.Join(w.dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	o := w.options()
	o.Overwrite, o.Kept = true, filepath.Join(file, "kept")
	for name, command := range map[string]func(install.Options) (*install.Plan, error){"sync": w.sync, "remove": w.remove} {
		p, err := command(o)
		if err != nil || p.Outcome() != install.Failed || !strings.Contains(p.Steps[0].Problem.Error(), o.Kept) {
			t.Errorf("%s: %v %v", name, err, p.Steps[0].Problem)
		}
		if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestNotPutBack checks that files changed by hand stay in the folder for new trees if they can be
// neither kept nor put back. The message names that folder.
func TestNotPutBack(t *testing.T) {
	for _, name := range []string{"sync", "remove"} {
		w := newWorld(t, "folder")
		w.publish(old)
		_, err := w.add(w.options())
		must(t, err)
		put(t, w.place(), map[string]string{"SKILL.md": "mine"})
		file := filepath.Join(w.dir, "file")
		must(t, os.WriteFile(file, nil, 0o644))
		o := w.options()
		o.Overwrite, o.Kept = true, filepath.Join(file, "kept")
		o.Now = func() time.Time { // another program interferes
			must(t, os.RemoveAll(w.place()))
			must(t, os.WriteFile(w.place(), nil, 0o644))
			return w.clock
		}
		p, err := map[string]func(install.Options) (*install.Plan, error){"sync": w.sync, "remove": w.remove}[name](o)
		must(t, err)
		_, at, _ := strings.Cut(p.Steps[0].Problem.Error(), " and are in ")
		if at == "" || files(t, at)["SKILL.md"] != "mine" {
			t.Errorf("%s: %v %v", name, p.Steps[0].Problem, files(t, w.project()))
		}
	}
}

// TestReadOnly checks that the error names a read-only folder or lock, and that the project stays
// unchanged.
func TestReadOnly(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	w.publish(newer)
	before := files(t, w.project())
	lock := filepath.Join(w.project(), lockfile.Name)
	must(t, os.Chmod(lock, 0o444))
	if _, err := w.update(w.options()); err == nil || !strings.Contains(err.Error(), "cannot be written") {
		t.Errorf("a read-only lock: %v", err)
	}
	must(t, os.Chmod(lock, 0o644))
	if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
		t.Error(diff)
	}
	if runtime.GOOS == "windows" || os.Getuid() == 0 {
		t.Skip("the rest needs a user whom permissions bind")
	}
	must(t, os.Chmod(filepath.Join(w.project(), ".agents"), 0o555))
	defer os.Chmod(filepath.Join(w.project(), ".agents"), 0o755)
	p, err := w.update(w.options())
	if err != nil || p.Outcome() != install.Failed || !strings.Contains(p.Steps[0].Problem.Error(), filepath.FromSlash("/.agents cannot be written")) {
		t.Errorf("a read-only folder: %v %v", p.Steps[0].Problem, err)
	}
	if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
		t.Error(diff)
	}
	must(t, os.Chmod(filepath.Join(w.project(), ".agents"), 0o755))
	must(t, os.Chmod(w.project(), 0o555)) // the lock cannot be written, but the skills could be
	defer os.Chmod(w.project(), 0o755)
	if _, err := w.update(w.options()); err == nil || !strings.Contains(err.Error(), "nothing was done") {
		t.Errorf("a read-only folder of the lock: %v", err)
	}
	if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
		t.Error(diff)
	}
}
