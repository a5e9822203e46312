package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
)

// interrupted leaves a project as a killed command leaves it, after it exchanged a skill and before
// it wrote the lock. The new files are in place. The old files are in the folder for new trees.
// interrupted returns their path.
func interrupted(w *world) (swap string) {
	w.t.Helper()
	w.publish(old)
	_, err := w.add(w.options())
	must(w.t, err)
	w.publish(newer)
	dry := w.options()
	dry.DryRun = true
	_, err = w.update(dry) // fetches the new files
	must(w.t, err)
	swap = filepath.Join(w.project(), ".agents", ".knack", ".knack-"+strings.Repeat("A", 26), "swap")
	must(w.t, os.MkdirAll(filepath.Dir(swap), 0o700))
	must(w.t, os.Rename(w.place(), swap))
	put(w.t, w.place(), newer)
	return swap
}

// keptAs returns the files of the only kept folder with this name.
func keptAs(t *testing.T, folder, name string) map[string]string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(folder, "*-"+name))
	must(t, err)
	if len(found) != 1 {
		t.Fatalf("%s has %v", folder, found)
	}
	return files(t, found[0])
}

// TestInterrupted checks the commands that follow a command that was killed before it wrote the
// lock. The next command names the old folder, and sync and verify advise update, which records the
// new files.
func TestInterrupted(t *testing.T) {
	w := newWorld(t, "folder")
	interrupted(w)
	var told []string
	o := w.options()
	o.Warn = func(text string) { told = append(told, text) }
	p, err := w.sync(o)
	must(t, err)
	if len(told) != 1 || !strings.Contains(told[0], w.backups()) {
		t.Errorf("told: %q", told)
	}
	if diff := cmp.Diff(old, keptAs(t, w.backups(), "interrupted")); diff != "" {
		t.Error(diff)
	}
	verified, err := w.planVerify(w.options(), nil)
	must(t, err)
	for name, p := range map[string]*install.Plan{"sync": p, "verify": verified} {
		if s := p.Steps[0]; p.Outcome() != install.No || !strings.Contains(s.Problem.Fix, "knack update") {
			t.Errorf("%s: %v %q", name, s.Problem, s.Problem.Fix)
		}
	}
	p, err = w.update(w.options())
	if err != nil || p.Outcome() != install.Done || p.Steps[0].Do != install.Record {
		t.Errorf("update: %v %+v", err, p.Steps[0])
	}
	// For a change by hand, sync does not advise update.
	put(t, w.place(), map[string]string{"SKILL.md": "mine"})
	p, err = w.sync(w.options())
	if err != nil || p.Outcome() != install.No || strings.Contains(p.Steps[0].Problem.Fix, "knack update") {
		t.Errorf("sync: %v %+v", err, p.Steps[0].Problem)
	}
}

// TestTold checks that a command warns of a folder that cannot be kept, and of a project that
// cannot be locked.
func TestTold(t *testing.T) {
	w := newWorld(t, "folder")
	swap := interrupted(w)
	file := filepath.Join(w.dir, "file")
	must(t, os.WriteFile(file, nil, 0o644))
	var told []string
	o := w.options()
	o.Kept, o.Guard = filepath.Join(file, "kept"), filepath.Join(file, "guard")
	o.Warn = func(text string) { told = append(told, text) }
	_, err := w.update(o)
	must(t, err)
	if all := strings.Join(told, "\n"); len(told) != 2 || !strings.Contains(all, o.Guard) || !strings.Contains(all, o.Kept) || !strings.Contains(all, filepath.Dir(filepath.Dir(swap))) {
		t.Errorf("told: %q", told)
	}
	if diff := cmp.Diff(old, files(t, swap)); diff != "" {
		t.Error(diff)
	}
}
