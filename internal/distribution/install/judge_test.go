package install_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// spoilt is an origin whose bad source has a version that no lock may record.
type spoilt struct{ origin.Origin }

func (o spoilt) Open(ctx context.Context, r origin.Ref, at origin.Revision) (origin.Library, error) {
	l, err := o.Origin.Open(ctx, r, at)
	if err == nil && strings.HasSuffix(r.Source, "bad") {
		return spoiltLibrary{l}, nil
	}
	return l, err
}

type spoiltLibrary struct{ origin.Library }

func (l spoiltLibrary) Revision() origin.Revision {
	return origin.Revision{ID: l.Library.Revision().ID, Version: "1.0.0+\x1b[31mhello"}
}

// TestNotRecorded checks a skill that the lock cannot record. Only this skill fails, before it is
// written, and in a dry run too. The other skills of the command are installed and locked.
func TestNotRecorded(t *testing.T) {
	for _, dry := range []bool{true, false} {
		w := newWorld(t, "folder")
		w.publish(old)
		put(t, filepath.Join(w.dir, "bad"), map[string]string{"SKILL.md": strings.Replace(old["SKILL.md"], "pdf", "bad", 1)})
		o := w.options()
		o.DryRun = dry
		w.wrap = func(o origin.Origin) origin.Origin { return spoilt{o} }
		p, err := w.planAdd(o, install.Request{Sources: []string{filepath.Join(w.dir, "bad"), w.source}})
		must(t, err)
		if bad := p.Steps[0]; p.Outcome() != install.Failed || bad.Do != install.Fail || !strings.Contains(bad.Problem.Error(), "version has a control character") || p.Steps[1].Do != install.Write {
			t.Errorf("%+v %+v", bad, p.Steps[1])
		}
		got := files(t, w.project())
		if dry {
			if len(got) != 0 {
				t.Error(got)
			}
			continue
		}
		l, err := lockfile.Parse([]byte(got[lockfile.Name]))
		if err != nil || len(l.Skills) != 1 || l.Skills[".agents/skills/pdf"].Name != "pdf" {
			t.Errorf("%v %+v", err, l)
		}
		if _, err := os.Lstat(filepath.Join(w.project(), ".agents", "skills", "bad")); err == nil {
			t.Error("what cannot be locked is in place")
		}
	}
}

// TestTwinOfTheLock checks that a skill is refused if its folder differs from a locked folder only
// in capital letters, and that the installed files stay.
func TestTwinOfTheLock(t *testing.T) {
	w := newWorld(t, "folder")
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	put(t, filepath.Join(w.dir, "source"), map[string]string{"PDF/SKILL.md": "---\ndescription: Another.\n---\n"})
	before := files(t, w.project())
	for _, dry := range []bool{true, false} {
		o := w.options()
		o.DryRun = dry
		p, err := w.planAdd(o, install.Request{Sources: []string{w.source}, Skills: []string{"PDF"}})
		must(t, err)
		// A disk that ignores case has the locked skill in the place of the new one.
		if s := p.Steps[0]; p.Outcome() != install.No || s.Do != install.Leave && !strings.Contains(s.Problem.Error(), "only in capitals") {
			t.Errorf("%+v %v", s, s.Problem)
		}
		if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
			t.Error(diff)
		}
	}
}
