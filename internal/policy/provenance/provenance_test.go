package provenance

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// project is a repository with skills in .agents/skills.
type project struct {
	t       testing.TB
	dir     string
	sources []catalog.Source // the sources of its last catalogue
}

func newProject(t testing.TB) *project {
	p := &project{t: t, dir: t.TempDir()}
	p.write(".git/HEAD", "ref: refs/heads/main\n")
	return p
}

func main(name string) string {
	return "---\nname: " + name + "\ndescription: Does " + name + ".\n---\n"
}

func (p *project) write(path, text string) {
	p.t.Helper()
	at := filepath.Join(p.dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *project) remove(path string) {
	p.t.Helper()
	if err := os.RemoveAll(filepath.Join(p.dir, filepath.FromSlash(path))); err != nil {
		p.t.Fatal(err)
	}
}

// skill writes a skill with a script.
func (p *project) skill(folder string) {
	name := folder[strings.LastIndexByte(folder, '/')+1:]
	p.write(folder+"/SKILL.md", main(name))
	p.write(folder+"/scripts/run.py", "print(1)\n")
}

// lock writes a lock with the current files of the folders.
func (p *project) lock(folders ...string) {
	p.t.Helper()
	lock := &lockfile.Lock{Skills: map[string]lockfile.Skill{}}
	for _, folder := range folders {
		var files []lockfile.File
		at, err := filepath.EvalSymlinks(filepath.Join(p.dir, filepath.FromSlash(folder)))
		if err != nil {
			p.t.Fatal(err)
		}
		err = filepath.WalkDir(at, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			rel, _ := filepath.Rel(at, path)
			files = append(files, lockfile.File{Path: filepath.ToSlash(rel), Size: int64(len(data)), Digest: skill.DigestOf(data)})
			return err
		})
		if err != nil {
			p.t.Fatal(err)
		}
		lock.Skills[folder] = lockfile.Skill{Name: "x", Source: "github.com/acme/skills", Path: "x", Version: "1.2.0", Revision: "git:9f2b", Digest: lockfile.Digest(files), Files: files}
	}
	p.write(lockfile.Name, string(lock.Bytes()))
}

func (p *project) root(below string) skill.Root {
	return skill.Root{Label: "agents-project", Scope: skill.ScopeProject, Dir: filepath.Join(p.dir, filepath.FromSlash(below)), Shown: below}
}

// catalog makes a catalogue of the roots and scans it.
func (p *project) catalog(o Options, roots ...skill.Root) (*catalog.Catalog, *Locks) {
	p.t.Helper()
	// The clock advances by a minute at each use. So no file is too new for its stamp to be
	// trusted, and no cached lock is fresh.
	tick := time.Duration(0)
	var mu sync.Mutex
	o.Now = func() time.Time {
		mu.Lock()
		defer mu.Unlock()
		tick += time.Minute
		return time.Now().Add(tick)
	}
	locks := New(o)
	p.sources = nil
	for i, r := range roots {
		r.Label += strings.Repeat("-2", i)
		r.Prefix = r.Label
		p.sources = append(p.sources, policy.Guarded(dir.New(dir.Options{Root: r, Load: true}), locks.Decider()))
	}
	c := catalog.New(p.sources, catalog.Options{Provenance: locks})
	p.refresh(c)
	return c, locks
}

func (p *project) refresh(c *catalog.Catalog) catalog.View {
	p.t.Helper()
	if err := c.Refresh(context.Background()); err != nil {
		p.t.Fatal(err)
	}
	v, err := c.View(context.Background())
	if err != nil {
		p.t.Fatal(err)
	}
	return v
}

// in returns the skill in a folder.
func in(t testing.TB, v catalog.View, folder string) *catalog.Entry {
	t.Helper()
	for _, e := range v.Entries {
		if e.Folder() == folder {
			return e
		}
	}
	t.Fatalf("no skill in %s", folder)
	return nil
}

// TestLocked checks how skills are compared with their lock if locks are not enforced.
func TestLocked(t *testing.T) {
	p := newProject(t)
	for _, name := range []string{"same", "script", "more", "less", "main", "own"} {
		p.skill(".agents/skills/" + name)
	}
	p.skill(".claude/skills/elsewhere")
	p.skill(".agents/skills/gone")
	p.lock(".agents/skills/same", ".agents/skills/script", ".agents/skills/more", ".agents/skills/less", ".agents/skills/main", ".agents/skills/gone")
	p.write(".agents/skills/script/scripts/run.py", "print(2)\n")
	p.write(".agents/skills/more/notes.md", "x")
	p.write(".agents/skills/same/.DS_Store", "x") // neither served nor hashed
	p.remove(".agents/skills/less/scripts")
	p.write(".agents/skills/main/SKILL.md", main("main")+"x")
	p.remove(".agents/skills/gone")
	c, locks := p.catalog(Options{Shown: filepath.Base}, p.root(".agents/skills"), p.root(".claude/skills"))
	if len(locks.areas)+len(locks.files) > 0 {
		t.Error("a start looks for locks")
	}
	v := p.refresh(c)
	for folder, want := range map[string]struct {
		state  catalog.LockState
		reason string
	}{
		"same": {catalog.AsLocked, ""}, "script": {catalog.Changed, "changed since it was locked: 'scripts/run.py' differs"},
		"more": {catalog.Changed, "changed since it was locked: 'notes.md' was added"}, "less": {catalog.Changed, "changed since it was locked: 'scripts/run.py' is missing"},
		"main": {catalog.Changed, "changed since it was locked: 'SKILL.md' differs"}, "own": {catalog.NotLocked, "not locked: knack.lock does not have it"},
		"elsewhere": {"", ""},
	} {
		e := in(t, v, folder)
		got := v.Locked(context.Background(), e)
		if got.State != want.state || got.Reason != want.reason || e.Status != catalog.Available {
			t.Errorf("%s: %+v, %v", folder, got, e.Status)
		}
		if known := want.state == catalog.AsLocked || want.state == catalog.Changed; known != (got.Source == "github.com/acme/skills" && got.Version == "1.2.0" && got.Revision == "git:9f2b") {
			t.Errorf("%s: %+v", folder, got)
		}
	}
	if n, compared := v.Drift(); n != 4 || !compared {
		t.Errorf("%d have drifted", n)
	}
	narrow, err := c.View(catalog.WithFilter(context.Background(), &catalog.Filter{Visible: func(e *catalog.Entry) bool { return e.Folder() == "script" }}))
	if n, _ := narrow.Drift(); err != nil || n != 1 || narrow.Locks() != nil {
		t.Errorf("who sees one skill is told of %d, and of the locks %v", n, narrow.Locks())
	}
	all := v.Locks()
	if len(all) != 1 || all[0].NMissing != 1 || all[0].Missing[0].Folder != ".agents/skills/gone" || all[0].Skills != 6 || !strings.HasSuffix(all[0].Name, "/knack.lock") {
		t.Errorf("locks %+v", all)
	}
}

// TestSilentDisk checks that the last verdicts stay in use for a root whose disk does not answer,
// and that the skills of other roots are still compared.
func TestSilentDisk(t *testing.T) {
	p := newProject(t)
	p.skill("one/pdf")
	p.skill("two/pdf")
	p.lock("one/pdf", "two/pdf")
	c, locks := p.catalog(Options{}, p.root("one"), p.root("two"))
	v := p.refresh(c)
	for _, e := range v.Entries {
		v.Locked(context.Background(), e)
	}
	silent := locks.areas[p.root("one").Dir]
	silent.mu.Lock() // as a caller that waits for the disk does
	defer silent.mu.Unlock()
	p.write("two/pdf/SKILL.md", main("pdf")+"x")
	for i, want := range []catalog.LockState{catalog.AsLocked, catalog.Changed} {
		if l := v.Locked(context.Background(), v.Entries[i]); l.State != want {
			t.Errorf("%s: %+v", v.Entries[i].Place(), l)
		}
	}
}

// TestDamagedLock checks that an unusable lock is reported once and that skills are still served.
func TestDamagedLock(t *testing.T) {
	p := newProject(t)
	p.skill(".agents/skills/pdf")
	p.write(lockfile.Name, "{\n<<<<<<< HEAD\n")
	var log strings.Builder
	c, _ := p.catalog(Options{Log: slog.New(slog.NewTextHandler(&log, nil))}, p.root(".agents/skills"))
	v := p.refresh(c)
	e := in(t, v, "pdf")
	for range 3 {
		if l := v.Locked(context.Background(), e); l.State != catalog.Incomparable || !strings.HasPrefix(l.Reason, "knack.lock:2:1: ") || l.Refused != nil {
			t.Errorf("%+v", l)
		}
	}
	if _, files, err := v.Manifest(context.Background(), e); err != nil || len(files) != 2 {
		t.Errorf("%v, %v", files, err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "lock not used") {
		t.Errorf("%d lines: %s", n, &log)
	}
	if all := v.Locks(); len(all) != 1 || all[0].Fix == "" || all[0].Name != "knack.lock of agents-project" {
		t.Errorf("%+v", all)
	}
}

// enforced is a step of TestEnforce: a change on the disk, and the reason for skipping the
// skill afterwards.
type enforced struct {
	name   string
	change func(*project)
	reason string
}

// TestEnforce checks that a skill is served only while it matches its lock.
func TestEnforce(t *testing.T) {
	const at = ".agents/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".agents/skills"))
	uri := in(t, p.refresh(c), "pdf").URI()
	for _, step := range []enforced{
		{"as locked", func(p *project) {}, ""},
		{"a script differs", func(p *project) { p.write(at+"/scripts/run.py", "print(2)\n") }, "changed since it was locked: 'scripts/run.py' differs"},
		{"locked as it is", func(p *project) { p.lock(at) }, ""},
		{"SKILL.md differs", func(p *project) { p.write(at+"/SKILL.md", main("pdf")+"x") }, "changed since it was locked: 'SKILL.md' differs"},
		{"restored", func(p *project) { p.write(at+"/SKILL.md", main("pdf")) }, ""},
		{"a file more", func(p *project) { p.write(at+"/x.md", "") }, "changed since it was locked: 'x.md' was added"},
		{"and less", func(p *project) { p.remove(at + "/x.md"); p.remove(at + "/scripts/run.py") }, "changed since it was locked: 'scripts/run.py' is missing"},
		{"whole", func(p *project) { p.skill(at); p.lock(at) }, ""},
		{"not in the lock", func(p *project) { p.lock() }, "not locked: knack.lock does not have it"},
		{"a damaged lock", func(p *project) { p.write(lockfile.Name, "{\n<<<<<<< HEAD\n") }, "knack.lock:2:1: the file has the conflict markers of a merge"},
		{"repaired", func(p *project) { p.lock(at) }, ""},
		{"a lock that is gone", func(p *project) { p.remove(lockfile.Name) }, "knack.lock is gone"},
		{"and back", func(p *project) { p.lock(at) }, ""},
	} {
		step.change(p)
		v := p.refresh(c)
		e := in(t, v, "pdf")
		problem, _ := e.SkipReason()
		if problem.Message != step.reason || (e.Status == catalog.Available) != (step.reason == "") || step.reason != "" && (problem.Rule != "file-locked" || problem.Fix == "") {
			t.Errorf("%s: %v, %+v", step.name, e.Status, problem)
		}
		if blocked := v.Blocked(uri) != nil; blocked != (step.reason != "") {
			t.Errorf("%s: blocked is %v", step.name, blocked)
		}
		_, _, err := skill.ReadFile(e.FS, "scripts/run.py", 100)
		if step.reason == "" && err != nil || step.reason != "" && err == nil {
			t.Errorf("%s: a script is read: %v", step.name, err)
		}
		if names, err := fs.ReadDir(e.FS, "."); err != nil || len(names) == 0 {
			t.Errorf("%s: its names cannot be listed: %v, %v", step.name, names, err)
		}
		if _, files, err := v.Manifest(context.Background(), e); step.reason == "" && (err != nil || len(files) != 2) {
			t.Errorf("%s: %v, %v", step.name, files, err)
		}
	}
}

// TestEnforceNoLock checks that skills are served while there is no lock, and skipped as soon as
// their folder has a lock without them.
func TestEnforceNoLock(t *testing.T) {
	p := newProject(t)
	p.skill("skills/a")
	c, _ := p.catalog(Options{Enforce: true}, p.root("skills"))
	old := in(t, p.refresh(c), "a")
	if old.Status != catalog.Available {
		t.Fatalf("%v", old.Status)
	}
	p.skill("other/b")
	p.lock("other/b") // this lock has nothing below skills
	if e := in(t, p.refresh(c), "a"); e.Status != catalog.Available {
		t.Fatalf("%v", e.Status)
	}
	p.skill("skills/b")
	p.lock("skills/b")
	v := p.refresh(c)
	if e := in(t, v, "a"); e.Status != catalog.Skipped {
		t.Errorf("%v", e.Status)
	}
	if e := in(t, v, "b"); e.Status != catalog.Available {
		t.Errorf("%v", e.Status)
	}
	if _, _, err := old.ReadServed("SKILL.md", 1000); err == nil {
		t.Error("an entry of an earlier snapshot can still be read")
	}
}

// TestEnforceEmptied checks that a skill is no longer served after its lock was emptied while the
// server runs.
func TestEnforceEmptied(t *testing.T) {
	const at = ".claude/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.skill(".claude/skills/own")
	p.skill("other/pdf")
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".claude/skills"))
	const without = "not locked: knack.lock does not have it"
	for _, step := range []enforced{
		{"as locked", func(p *project) {}, ""},
		{"emptied", func(p *project) { p.lock() }, without},
		{"of another folder", func(p *project) { p.lock("other/pdf") }, without},
		{"damaged", func(p *project) { p.write(lockfile.Name, "{") }, "knack.lock:1:2: "},
		{"emptied again", func(p *project) { p.lock() }, without},
		{"a folder", func(p *project) { p.remove(lockfile.Name); p.skill(lockfile.Name + "/x") }, "knack.lock cannot be read: "},
		{"gone", func(p *project) { p.remove(lockfile.Name) }, "knack.lock is gone"},
		{"back, and empty", func(p *project) { p.lock() }, without},
		{"restored", func(p *project) { p.lock(at) }, ""},
	} {
		step.change(p)
		v := p.refresh(c)
		e := in(t, v, "pdf")
		problem, _ := e.SkipReason()
		if !strings.HasPrefix(problem.Message, step.reason) || (e.Status == catalog.Available) != (step.reason == "") {
			t.Errorf("%s: %v, %+v", step.name, e.Status, problem)
		}
		if _, _, err := skill.ReadFile(e.FS, "scripts/run.py", 100); (err == nil) != (step.reason == "") {
			t.Errorf("%s: a script is read: %v", step.name, err)
		}
		if own := in(t, v, "own"); own.Status != catalog.Skipped {
			t.Errorf("%s: a skill that is not locked is %v", step.name, own.Status)
		}
	}
}

// TestEnforceLinks checks that the lock at the real location of a skill decides, not the lock at a
// link that leads to it.
func TestEnforceLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links")
	}
	p := newProject(t)
	p.skill(".agents/skills/pdf")
	p.lock(".agents/skills/pdf")
	for link, target := range map[string]string{".claude/skills/pdf": "../../.agents/skills/pdf", ".wave": ".agents"} {
		at := filepath.Join(p.dir, filepath.FromSlash(link))
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at)); err != nil {
			t.Fatal(err)
		}
	}
	c, _ := p.catalog(Options{Enforce: true}, p.root(".claude/skills"), p.root(".wave/skills"))
	for _, status := range []bool{true, false} {
		v := p.refresh(c)
		if len(v.Entries) != 2 {
			t.Fatalf("%d skills", len(v.Entries))
		}
		for _, e := range v.Entries {
			if (e.Status != catalog.Skipped) != status {
				t.Errorf("%s: %v", e.Place(), e.Status)
			}
		}
		p.write(".agents/skills/pdf/scripts/run.py", "print(2)\n")
	}
}

// TestEnforceLinkOut has a root with a lock, and in it a link to a skill outside. The skill must be
// skipped unless the lock contains it under the link's name. If it does, the skill counts as locked
// by any path to it.
func TestEnforceLinkOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links")
	}
	p := newProject(t)
	p.skill(".agents/skills/pdf")
	p.skill("vendor/evil")
	p.skill("vendor/group/other")
	p.skill("free/pdf")
	for link, target := range map[string]string{".agents/skills/evil": "../../vendor/evil", ".agents/skills/group": "../../vendor/group", "free/evil": "../vendor/evil"} {
		if err := os.Symlink(target, filepath.Join(p.dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	p.lock(".agents/skills/pdf")
	c, _ := p.catalog(Options{Enforce: true}, p.root(".agents/skills"), p.root("free"))
	check := func(served map[string]bool) {
		t.Helper()
		v := p.refresh(c)
		if len(v.Entries) != 5 {
			t.Fatalf("%d skills", len(v.Entries))
		}
		for _, e := range v.Entries {
			at := e.Root.Shown + "/" + e.Path
			_, _, err := skill.ReadFile(e.FS, "scripts/run.py", 100)
			if (e.Status != catalog.Skipped) != served[at] || (err == nil) != served[at] {
				t.Errorf("%s: %v, %v", at, e.Status, err)
			}
		}
	}
	check(map[string]bool{".agents/skills/pdf": true, "free/pdf": true, "free/evil": true})
	p.lock(".agents/skills/pdf", ".agents/skills/evil")
	check(map[string]bool{".agents/skills/pdf": true, "free/pdf": true, "free/evil": true, ".agents/skills/evil": true})
	p.write("vendor/evil/scripts/run.py", "print(2)\n")
	check(map[string]bool{".agents/skills/pdf": true, "free/pdf": true}) // free/evil leads to the locked folder
}

// TestEnforceLayouts checks that a skill is served if it matches its lock and refused if it has
// changed, whatever links lead to its folder, root and lock.
func TestEnforceLayouts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links")
	}
	for name, layout := range map[string]struct {
		real, lock, key, root string // below the project; the folder of the lock, "" for the project
		links                 map[string]string
	}{
		"the skills folder is a link":     {"skills/a", "", ".agents/skills/a", ".agents/skills", map[string]string{".agents/skills": "../skills"}},
		"its parent is a link":            {"agents/skills/a", "", ".agents/skills/a", ".agents/skills", map[string]string{".agents": "agents"}},
		"the skill is a link":             {"skills/a", "", ".agents/skills/a", ".agents/skills", map[string]string{".agents/skills/a": "../../skills/a"}},
		"the root is another folder":      {".claude/skills/a", "", ".agents/skills/a", ".claude/skills", map[string]string{".agents/skills": "../.claude/skills"}},
		"the root is the target":          {"skills/a", "", ".agents/skills/a", "skills", map[string]string{".agents/skills/a": "../../skills/a"}},
		"the root is in a locked skill":   {"skills/x", "", "skills/x", "skills/x/deep", nil},
		"of all projects":                 {"dot/skills/a", ".agents", "skills/a", ".claude/skills", map[string]string{".agents/skills": "../dot/skills", ".claude/skills": "../dot/skills"}},
		"of all projects, in a link":      {"dot/agents/skills/a", "dot/agents", "skills/a", ".agents/skills", map[string]string{".agents": "dot/agents"}},
		"the lock's root has two folders": {"skills/a", "", "other/a", "skills", map[string]string{"other": "skills"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProject(t)
			p.skill(layout.real)
			p.skill(layout.real + "/deep/er")
			for link, target := range layout.links {
				at := filepath.Join(p.dir, filepath.FromSlash(link))
				if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.Symlink(target, at)); err != nil {
					t.Fatal(err)
				}
			}
			in := project{t: t, dir: filepath.Join(p.dir, layout.lock)}
			in.lock(layout.key)
			c, _ := p.catalog(Options{Enforce: true, Global: filepath.Join(p.dir, ".agents")}, p.root(layout.root))
			for _, changed := range []bool{false, true} {
				v := p.refresh(c)
				for _, e := range v.Entries {
					_, _, err := skill.ReadFile(e.FS, "scripts/run.py", 100)
					if locked := v.Locked(t.Context(), e); (e.Status == catalog.Skipped) != changed || (err != nil) != changed || (locked.Refused != nil) != changed {
						t.Errorf("changed %v: %s: %v, %v, %+v", changed, e.Place(), e.Status, err, locked)
					}
				}
				if len(v.Entries) == 0 {
					t.Error("no skill")
				}
				p.write(layout.real+"/scripts/run.py", "print(2)\n")
				p.write(layout.real+"/deep/er/scripts/run.py", "print(2)\n")
			}
			p.write(layout.real+"/scripts/run.py", "print(1)\n")
			p.write(layout.real+"/deep/er/scripts/run.py", "print(1)\n")
			in.lock()
			for _, e := range p.refresh(c).Entries {
				if e.Status != catalog.Skipped {
					t.Errorf("served though the lock does not have it: %s", e.Place())
				}
			}
		})
	}
}

// TestEnforceRead checks that a file that changed after a scan cannot be read, even if its
// size and stamp did not change.
func TestEnforceRead(t *testing.T) {
	const at = ".agents/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.write(at+"/empty", "")
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".agents/skills"))
	v := p.refresh(c)
	e := in(t, v, "pdf")
	read := func(path string) error {
		_, err := v.ReadFile(context.Background(), e, path, 1)
		return err
	}
	if err := errors.Join(read("scripts/run.py"), read("SKILL.md"), read("empty")); err != nil {
		t.Fatal(err)
	}
	p.write(at+"/scripts/run.py", "print(2)\n")
	p.write(at+"/empty", "x")
	p.write(at+"/new.py", "print(2)\n")
	for _, path := range []string{"scripts/run.py", "empty", "new.py"} {
		if _, ok := errors.AsType[*skill.LockError](read(path)); !ok {
			t.Errorf("%s: %v", path, read(path))
		}
	}
	if _, _, err := v.Manifest(context.Background(), e); err == nil {
		t.Error("the manifest has what changed")
	}
	p.write(at+"/SKILL.md", strings.Replace(main("pdf"), "Does", "DOES", 1))
	_, now, err := v.Read(context.Background(), e)
	if err == nil || now == nil || now.Available {
		t.Errorf("SKILL.md is read: %v, %v", now.Status, err)
	}
	if v, _ := c.View(context.Background()); len(v.Listed) != 0 {
		t.Error("it is still listed")
	}
}

// TestEnforceManifest checks that a skill has no manifest if one of its files was removed since the
// scan, even if no other file changed.
func TestEnforceManifest(t *testing.T) {
	const at = ".agents/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".agents/skills"))
	v := p.refresh(c)
	p.remove(at + "/scripts")
	_, files, err := v.Manifest(context.Background(), in(t, v, "pdf"))
	if locked, ok := errors.AsType[*skill.LockError](err); !ok || !locked.Changed || !strings.Contains(err.Error(), "'scripts/run.py' is missing") {
		t.Errorf("%v, %v", files, err)
	}
}

// TestEnforceRace checks that a file that is read while another program writes it either matches
// the lock or cannot be read.
func TestEnforceRace(t *testing.T) {
	const at = ".agents/skills/pdf"
	p := newProject(t)
	p.skill(at)
	good := strings.Repeat("good content\n", 6000)
	bad := strings.Repeat("evil content\n", 6000)
	p.write(at+"/data.txt", good)
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".agents/skills"))
	file := filepath.Join(p.dir, filepath.FromSlash(at), "data.txt")
	want := skill.DigestOf([]byte(good))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { // writes in place and by rename, always with the same size
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
			}
			text := []string{good, bad}[i%2]
			if i%4 < 2 {
				_ = os.WriteFile(file+".new", []byte(text), 0o644)
				_ = os.Rename(file+".new", file)
			} else if f, err := os.OpenFile(file, os.O_WRONLY, 0); err == nil {
				_, _ = f.WriteString(text)
				f.Close()
			}
		}
	})
	right, refused := 0, 0
	for i := 0; i < 3000 && (i < 300 || right == 0 || refused == 0); i++ {
		if i%16 == 0 {
			p.refresh(c)
		}
		v, err := c.View(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		e := in(t, v, "pdf")
		data, err := v.ReadFile(context.Background(), e, "data.txt", 1)
		switch {
		case err != nil:
			refused++
		case skill.DigestOf(data) != want:
			t.Fatal("read other content than the locked one")
		default:
			right++
		}
		if f, err := e.Hash("data.txt"); err == nil && f.Digest != want {
			t.Fatal("hashed other content than the locked one")
		}
	}
	close(done)
	wg.Wait()
	t.Logf("%d right, %d refused", right, refused)
	if right == 0 || refused == 0 {
		t.Errorf("%d right, %d refused: no race", right, refused)
	}
	p.write(at+"/data.txt", good)
	p.remove(at + "/data.txt.new")
	if e := in(t, p.refresh(c), "pdf"); e.Status != catalog.Available {
		t.Errorf("afterwards it is %v", e.Status)
	}
}
