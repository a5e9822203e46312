//go:build unix

package edit

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const nobody = 65534

// TestReplaceKeepsOwner checks that a file that an administrator changes keeps its owner.
func TestReplaceKeepsOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only an administrator can replace another's file and keep its owner")
	}
	path := put(t, "a", "old", 0o600)
	if err := os.Chown(path, nobody, nobody); err != nil {
		t.Skip(err)
	}
	if err := Replace(path, []byte("old"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if s := info.Sys().(*syscall.Stat_t); s.Uid != nobody || s.Gid != nobody || info.Mode().Perm() != 0o600 {
		t.Errorf("it is of %d:%d, %v", s.Uid, s.Gid, info.Mode())
	}
	holds(t, path, "new")
}

// TestReplaceRefusesOwner checks that Replace refuses a change by another user. The test runs
// itself as a user with permission to write the folder and read the file.
func TestReplaceRefusesOwner(t *testing.T) {
	if path := os.Getenv("EDIT_TEST_FILE"); path != "" {
		if err := Replace(path, []byte("old"), []byte("new")); !errors.Is(err, errOwner) {
			t.Errorf("%v, want %v", err, errOwner)
		}
		return
	}
	if os.Getuid() != 0 {
		t.Skip("only an administrator can run as another user")
	}
	// t.TempDir does not help here, since the other user may not enter it.
	dir, err := os.MkdirTemp("", "edit-owner")
	if err != nil {
		t.Skip(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	binary, folder := filepath.Join(dir, "edit.test"), filepath.Join(dir, "shared")
	path := filepath.Join(folder, "a")
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.WriteFile(binary, self, 0o755), os.Mkdir(folder, 0o777), os.Chmod(folder, 0o777),
		os.WriteFile(path, []byte("old"), 0o644),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "-test.run", "^TestReplaceRefusesOwner$")
	cmd.Dir, cmd.Env = "/", append(os.Environ(), "EDIT_TEST_FILE="+path)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	holds(t, path, "old")
}
