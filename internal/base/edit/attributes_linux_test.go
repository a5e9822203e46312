package edit

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/test/difftest"
)

const (
	aclOfFile   = "system.posix_acl_access"
	aclOfFolder = "system.posix_acl_default"
)

// acl returns a POSIX ACL as the kernel stores it (linux/posix_acl_xattr.h). The owner reads and
// writes, user 65534 and the mask have the given permissions, and other users have no permission.
func acl(permissions uint16) []byte {
	const undefined = ^uint32(0)
	out := binary.LittleEndian.AppendUint32(nil, 2)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, undefined}, {0x02, permissions, nobody}, {0x04, 0, undefined}, {0x10, permissions, undefined}, {0x20, 0, undefined}} {
		out = binary.LittleEndian.AppendUint16(out, e.tag)
		out = binary.LittleEndian.AppendUint16(out, e.perm)
		out = binary.LittleEndian.AppendUint32(out, e.id)
	}
	return out
}

// set gives a file an attribute. It skips the test if the file system has no attributes of that
// kind.
func set(t *testing.T, path, name string, value []byte) {
	t.Helper()
	err := unix.Lsetxattr(path, name, value, 0)
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EPERM) {
		t.Skipf("the file system of %s has no %s: %v", path, name, err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func attributesOf(t *testing.T, path string) map[string][]byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := attributes(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestReplaceKeepsAttributes checks that a file keeps its ACL and its other attributes.
func TestReplaceKeepsAttributes(t *testing.T) {
	path := put(t, "a", "old", 0o600)
	set(t, path, "user.note", []byte("mine\x00and\xff more"))
	set(t, path, "user.empty", nil)
	set(t, path, aclOfFile, acl(4))
	before := attributesOf(t, path)
	mode, _ := os.Stat(path)
	backup, _, err := Backup(path, []byte("old"))
	if err != nil {
		t.Fatal(err)
	}
	difftest.Same(t, attributesOf(t, backup), before, "the backup")
	if err := os.Remove(backup); err != nil {
		t.Fatal(err)
	}
	if err := Replace(path, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if len(before) < 3 {
		t.Fatalf("only %v was set", before)
	}
	difftest.Same(t, attributesOf(t, path), before)
	if info, err := os.Stat(path); err != nil || info.Mode() != mode.Mode() {
		t.Errorf("mode %v, %v; it was %v", info.Mode(), err, mode.Mode())
	}
	holds(t, path, "new")
}

// TestReplaceInheritsNoACL checks that a replaced file without an ACL does not get the folder's
// default ACL.
func TestReplaceInheritsNoACL(t *testing.T) {
	path := put(t, "a", "old", 0o640)
	set(t, filepath.Dir(path), aclOfFolder, acl(7))
	if err := Replace(path, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if now := attributesOf(t, path); now[aclOfFile] != nil {
		t.Errorf("it has an ACL now: %x", now[aclOfFile])
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	holds(t, path, "new")
}

// TestReplaceRefusesAttributes checks that the old file stays if an attribute cannot be set on the
// new one.
func TestReplaceRefusesAttributes(t *testing.T) {
	path := put(t, "a", "old", 0o644)
	set(t, path, "user.note", []byte("mine"))
	was := setAttribute
	defer func() { setAttribute = was }()
	setAttribute = func(int, string, []byte, int) error { return unix.EPERM }
	if err := Replace(path, []byte("old"), []byte("new")); !errors.Is(err, errAttributes) {
		t.Errorf("%v, want %v", err, errAttributes)
	}
	holds(t, path, "old")
}
