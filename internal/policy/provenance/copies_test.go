package provenance

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// TestCopies checks that of the skills in a client's folder, only copies of locked skills are
// compared with the lock.
func TestCopies(t *testing.T) {
	const at, copied = ".agents/skills/pdf", ".claude/skills/pdf"
	p := newProject(t)
	for _, folder := range []string{at, copied, ".claude/skills/own", copied + "/nested"} {
		p.skill(folder)
	}
	p.skill(at + "/nested")
	p.lock(at)
	data, err := os.ReadFile(filepath.Join(p.dir, lockfile.Name))
	if err != nil {
		t.Fatal(err)
	}
	lock, err := lockfile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	e := lock.Skills[at]
	e.Clients = map[string]lockfile.Form{"claude-code": lockfile.Copy, "unknown": lockfile.Copy}
	lock.Skills[at] = e
	p.write(lockfile.Name, string(lock.Bytes()))
	c, _ := p.catalog(Options{Enforce: true}, p.root(".claude/skills"))
	check := func(when, pdf, nested string) {
		t.Helper()
		v := p.refresh(c)
		for folder, reason := range map[string]string{"own": "", "pdf": pdf, "nested": nested} {
			fault := in(t, v, folder).Fault()
			if locked, refused := errors.AsType[*skill.LockError](fault); refused != (reason != "") || refused && !strings.Contains(locked.Message, reason) {
				t.Errorf("%s, %s: %v", when, folder, fault)
			}
		}
	}
	check("as locked", "", "")
	p.write(copied+"/nested/scripts/run.py", "print(2)\n")
	check("changed", "differs", "differs")
	p.write(copied+"/nested/scripts/run.py", "print(1)\n")
	check("restored", "", "")
	p.write(lockfile.Name, string((&lockfile.Lock{}).Bytes()))
	check("emptied", "not locked", "not locked")
}
