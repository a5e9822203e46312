package provenance

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
	"github.com/knack-dev/knack/tool/lookup"
)

// TestEnforceBetween checks that a file that is not in the current lock cannot be read, even if the
// lock is newer than the last scan. Trying to read the file requests a refresh.
func TestEnforceBetween(t *testing.T) {
	const at = ".claude/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.skill("free/own")
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".claude/skills"), p.root("free"))
	v := p.refresh(c)
	pdf, own := in(t, v, "pdf"), in(t, v, "own")
	asked := 0
	poke := func() { asked++ }
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, s := range p.sources {
		s.(catalog.Watcher).Watch(ended, poke) // stores poke and returns, since the context has ended
	}
	check := func(name string, e *catalog.Entry, reason string, asks bool) {
		t.Helper()
		asked = 0
		_, script := v.ReadFile(context.Background(), e, "scripts/run.py", 1)
		_, _, main := e.ReadServed(skill.MainFile, 1000)
		_, _, manifest := v.Manifest(context.Background(), e)
		for _, err := range []error{script, main, manifest} {
			locked, refused := errors.AsType[*skill.LockError](err)
			if refused != (reason != "") || refused && !strings.HasPrefix(locked.Message, reason) || !refused && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if (asked > 0) != asks {
			t.Errorf("%s: asked for a refresh %d times", name, asked)
		}
	}
	check("as locked", pdf, "", false)
	p.write(lockfile.Name, "{\n<<<<<<< HEAD\n")
	check("damaged", pdf, "knack.lock:2:1: ", true)
	p.lock(at)
	check("repaired", pdf, "", false)
	p.lock()
	check("emptied", pdf, "not locked", true)
	p.remove(lockfile.Name)
	check("gone", pdf, "knack.lock is gone", true)
	p.lock(at)
	check("back", pdf, "", false)
	check("without a lock", own, "", false)
	p.skill("free/other")
	p.lock(at, "free/other")
	check("in no lock that there is now", own, "not locked", true)
	check("with another", pdf, "", false)
	p.lock(at, "free/own")
	check("locked now", own, "", true)
	p.write(at+"/scripts/run.py", "print(2)\n")
	p.lock(at)
	check("locked anew", pdf, "", true)
	p.refresh(c)
	check("after a refresh", pdf, "", false)
}

// TestFallbackBetween checks that the last served text is no longer served as soon as the lock
// refuses the skill, even before the next scan.
func TestFallbackBetween(t *testing.T) {
	const at = ".claude/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.lock(at)
	c, _ := p.catalog(Options{Enforce: true}, p.root(".claude/skills"))
	uri := in(t, p.refresh(c), "pdf").URI()
	f := &lookup.Finder{Catalog: c}
	document := func() lookup.Document {
		t.Helper()
		d, err := f.Document(t.Context(), uri)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	served := document()
	if served.Fallback {
		t.Fatalf("%+v", served)
	}
	p.write(lockfile.Name, "{")
	for range 3 {
		if d := document(); !d.Fallback || d.Text == served.Text {
			t.Errorf("with a damaged lock: %+v", d)
		}
	}
	p.lock(at)
	p.refresh(c)
	if d := document(); d != served {
		t.Errorf("with the lock: %+v", d)
	}
}

// scans counts scans as a source does. It starts at a number that no source reaches.
var scans atomic.Uint64

func turn() uint64 { return 1<<40 + scans.Add(1) }

// TestBounded checks that removed folders are dropped from the cache, except roots that had a lock.
func TestBounded(t *testing.T) {
	p := newProject(t)
	p.skill(".claude/skills/pdf")
	p.skill(".claude/skills/gone")
	p.lock(".claude/skills/pdf")
	locks := New(Options{Enforce: true})
	s := policy.Guarded(dir.New(dir.Options{Root: p.root(".claude/skills"), Load: true}), locks.Decider())
	scan := func() int {
		t.Helper()
		found, err := s.Scan(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Bundles)
	}
	if n := scan(); n != 2 {
		t.Fatalf("%d skills", n)
	}
	for i := range 3 * mostAreas {
		locks.area(filepath.Join(p.dir, "vendor", strconv.Itoa(i)), 0)
	}
	if a, f := len(locks.areas), len(locks.files); a > mostAreas+1 || f > mostAreas+3 {
		t.Errorf("%d folders, %d locks", a, f)
	}
	p.lock()
	if found := locks.area(p.root(".claude/skills").Dir, turn()).locks; len(found) != 1 || len(found[0].skills) != 0 {
		t.Errorf("the emptied lock is %+v", found)
	}
	p.remove(lockfile.Name)
	if found := locks.area(p.root(".claude/skills").Dir, turn()).locks; len(found) != 1 || found[0].fault == nil {
		t.Errorf("the lock that is gone is %+v", found)
	}
	p.remove(".claude/skills/gone")
	if n := scan(); n != 1 {
		t.Fatalf("%d skills", n)
	}
}

// TestStatesBounded checks that the states of compared skills are dropped when there are too many.
func TestStatesBounded(t *testing.T) {
	locks := New(Options{})
	root := &skill.Root{Dir: "/x"}
	for i := range mostStates + 10 {
		locks.note(&catalog.Entry{Skill: &skill.Skill{Bundle: &skill.Bundle{Path: strconv.Itoa(i), In: root}}}, catalog.Locked{})
	}
	if n := len(locks.states); n != 10 {
		t.Errorf("%d states", n)
	}
}

// TestOneLock checks that a lock is reported once, even if it is read for each of several roots.
func TestOneLock(t *testing.T) {
	p := newProject(t)
	p.write(lockfile.Name, "{")
	now := time.Now()
	locks := New(Options{Now: func() time.Time { return now }})
	s := &catalog.Snapshot{}
	for _, below := range []string{"one", "two"} {
		root := p.root(below)
		locks.area(root.Dir, turn()) // as a scan does
		s.Roots = append(s.Roots, catalog.RootStatus{Root: root})
	}
	if all := locks.Locks(s); len(all) != 1 || all[0].Reason == "" {
		t.Errorf("%+v", all)
	}
}
