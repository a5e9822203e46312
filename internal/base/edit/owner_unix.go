//go:build unix

package edit

import (
	"io/fs"
	"os"
	"syscall"
)

// copyOwner gives a new file the owner and group in model. Without it, the owner could not read a
// file that an administrator has rewritten.
func copyOwner(to *temporary, model fs.FileInfo) error {
	made, err := to.f.Stat()
	if err != nil {
		return err
	}
	want, ok := model.Sys().(*syscall.Stat_t)
	have, known := made.Sys().(*syscall.Stat_t)
	if !ok || !known || want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	if to.f.Chown(int(want.Uid), int(want.Gid)) != nil {
		return errOwner
	}
	return nil
}

// isOwn reports whether no other user can have written a file. The file then belongs to this user
// or to root, and only its owner may write it.
func isOwn(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (int(stat.Uid) == os.Geteuid() || stat.Uid == 0) && info.Mode().Perm()&0o022 == 0
}
