package install_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/distribution/install"
)

// TestFullDisk checks that the error of a full disk names the folder, whether knack notices the
// lack of room before any write or while it writes. Every skill and the lock stay unchanged.
func TestFullDisk(t *testing.T) {
	w := newWorld(t, "folder")
	if err := syscall.Mount("tmpfs", w.project(), "tmpfs", 0, "size=128k"); err != nil {
		t.Skip("mounting a file system needs an administrator: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(w.project(), syscall.MNT_DETACH) })
	w.publish(old)
	_, err := w.add(w.options())
	must(t, err)
	before := files(t, w.project())
	for _, command := range []string{"update", "add"} {
		w.publish(with(newer, "large", strings.Repeat("x", 1<<20)))
		if command == "add" {
			must(t, os.RemoveAll(w.place()))
			before = files(t, w.project())
		}
		run := map[string]func(install.Options) (*install.Plan, error){"update": w.update, "add": w.add}[command]
		if _, err := run(w.options()); err == nil || !strings.Contains(err.Error(), "MB left, and the files to write may need 1.") {
			t.Errorf("%s: %v", command, err)
		}
		o := w.options()
		o.Room = func(string) (edit.Space, bool) { return edit.Space{}, false }
		p, err := run(o)
		if err != nil || p.Outcome() != install.Failed || !strings.Contains(p.Steps[0].Problem.Error(), "is full") || p.Steps[0].Problem.Fix == "" {
			t.Errorf("%s: %v %+v", command, err, p.Steps[0].Problem)
		}
		if diff := cmp.Diff(before, files(t, w.project())); diff != "" {
			t.Errorf("%s: %s", command, diff)
		}
	}
}
