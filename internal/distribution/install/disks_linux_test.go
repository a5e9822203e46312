package install_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/distribution/install"
)

// otherDisk returns a folder on another file system than the temporary folders of tests.
func otherDisk(t *testing.T) string {
	t.Helper()
	at, err := os.MkdirTemp("/dev/shm", "knack")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(at) })
	var here, there syscall.Stat_t
	must(t, syscall.Stat(t.TempDir(), &here))
	must(t, syscall.Stat(at, &there))
	if here.Dev == there.Dev {
		t.Skip("all folders are on one file system")
	}
	return filepath.Join(at, "kept")
}

// TestKeptOnAnotherDisk checks that removed files can be kept on another file system, with their
// links, even after a command was killed. A pipe cannot be kept, and the error names it.
func TestKeptOnAnotherDisk(t *testing.T) {
	w := newWorld(t, "folder")
	o := w.options()
	o.Kept = otherDisk(t)
	swap := interrupted(w)
	_, err := w.update(o)
	must(t, err)
	if diff := cmp.Diff(old, keptAs(t, o.Kept, "interrupted")); diff != "" {
		t.Error(diff)
	}
	if _, err := os.Lstat(filepath.Dir(filepath.Dir(swap))); err == nil {
		t.Error("the folder for new trees is left")
	}

	must(t, os.Symlink("../../../knack.lock", filepath.Join(w.place(), "way")))
	put(t, w.place(), map[string]string{"mine/notes.txt": "mine"})
	before := files(t, w.place())
	fifo := filepath.Join(w.place(), "pipe")
	must(t, syscall.Mkfifo(fifo, 0o600))
	o.Overwrite = true
	p, err := w.sync(o)
	if err != nil || p.Outcome() != install.Failed || !strings.Contains(p.Steps[0].Problem.Error(), fifo) {
		t.Errorf("a pipe: %v %v", err, p.Steps[0].Problem)
	}
	must(t, os.Remove(fifo))
	if diff := cmp.Diff(before, files(t, w.place())); diff != "" {
		t.Error(diff)
	}
	p, err = w.sync(o)
	if err != nil || p.Outcome() != install.Done || p.Steps[0].Kept == "" {
		t.Errorf("%v %v", err, p.Steps[0].Problem)
	}
	if diff := cmp.Diff(before, keptAs(t, o.Kept, "pdf")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(newer, files(t, w.place())); diff != "" {
		t.Error(diff)
	}
}
