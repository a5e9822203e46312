package provenance

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/lockfile"
	"github.com/knack-dev/knack/skill"
)

// TestEnforceBetween reads no file that the lock of now does not have, though the last scan was
// before that lock, and asks for a refresh.
func TestEnforceBetween(t *testing.T) {
	const at = ".claude/skills/pdf"
	p := newProject(t)
	p.skill(at)
	p.skill("free/own")
	p.lock(at)
	c, locks := p.catalog(Options{Enforce: true}, p.root(".claude/skills"), p.root("free"))
	v := p.refresh(c)
	pdf, own := in(t, v, "pdf"), in(t, v, "own")
	asked := 0
	poke := func() { asked++ }
	for _, e := range v.Entries {
		locks.gate(e.Root.Dir, e.Path).source.Load().poke.Store(&poke)
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
