package store

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
)

// disk mounts a small file system.
func disk(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
		t.Skip("mounting a file system needs an administrator: ", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// TestStoreFull checks that a full disk is reported, and leaves the store unchanged.
func TestStoreFull(t *testing.T) {
	dir := filepath.Join(disk(t, "256k"), "knack")
	s := open(t, dir, Options{Setting: "XDG_CACHE_HOME"})
	k := put(t, s, "SKILL.md")
	want := "the disk of the store " + dir + " is full: free some space (the store itself can be deleted), or set XDG_CACHE_HOME to another folder"
	b := begin(t, s)
	if err := b.File("x", origin.File{Path: "a", Size: -1}, io.LimitReader(&endless{}, 1<<20)); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	if err := send(b, "other", "a"); err == nil || err.Error() != want {
		t.Errorf("the next skill: %v", err)
	}
	for _, name := range []string{"x", "other", "third"} {
		if _, err := b.Finish(name); err == nil || err.Error() != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	p, err := s.Spool()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(p, io.LimitReader(&endless{}, 1<<20)); err == nil || err.Error() != want {
		t.Errorf("the spool: %v", err)
	}
	p.Close()
	if left := tree(t, filepath.Join(dir, "tmp")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	if _, err := s.Find(k.Digest); err != nil {
		t.Error(err)
	}
	put(t, s, "another")
}

// TestStoreReadOnly checks that a read-only store is reported, and can still be read.
func TestStoreReadOnly(t *testing.T) {
	at := disk(t, "256k")
	dir := filepath.Join(at, "knack")
	first := open(t, dir, Options{})
	k := put(t, first, "SKILL.md")
	first.Close()
	if err := syscall.Mount("", at, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	s := open(t, dir, Options{})
	if _, err := s.Find(k.Digest); err != nil {
		t.Error(err)
	}
	want := "the store " + dir + " is on a read-only file system: make it writable"
	if _, err := s.Batch(t.Context()); err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}
	none := filepath.Join(at, "none")
	if _, err := open(t, none, Options{}).Spool(); err == nil || !errors.Is(err, syscall.EROFS) {
		t.Error(err)
	}
}

// TestStoreForbidden checks the message about a folder of another user.
func TestStoreForbidden(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() == 0 {
		t.Skip("an administrator may write everywhere")
	}
	if err := os.Chmod(dir, 0o500); err != nil {
		t.Fatal(err)
	}
	_, err := open(t, filepath.Join(dir, "knack"), Options{Setting: "XDG_CACHE_HOME"}).Batch(t.Context())
	if err == nil || !strings.Contains(err.Error(), "give yourself the permission, or set XDG_CACHE_HOME to another folder") {
		t.Error(err)
	}
}

// TestFindUnreadable checks that a skill stays in the store if the system cannot open its files at
// the moment.
func TestFindUnreadable(t *testing.T) {
	s := open(t, t.TempDir(), Options{})
	k := put(t, s, "SKILL.md", "sub/a")
	next, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	free := uint64(next.Fd())
	next.Close()
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	for more := range uint64(4) { // descriptors for the folder, and for its files
		few := syscall.Rlimit{Cur: free + more, Max: was.Max}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
			t.Fatal(err)
		}
		_, err = s.Find(k.Digest)
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
			t.Fatal(err)
		}
		if more == 0 && !errors.Is(err, syscall.EMFILE) || err != nil && !errors.Is(err, syscall.EMFILE) {
			t.Errorf("with %d descriptors: %v", more, err)
		}
	}
	if _, err := s.Find(k.Digest); err != nil {
		t.Error(err)
	}
}
