//go:build unix

package edit

import (
	"io/fs"
	"os"
	"syscall"
)

// own gives the file at path the owner and group of another, which a file made
// beside it need not have: an administrator's account would keep the owner from
// reading what is his.
func own(path string, of fs.FileInfo) error {
	made, err := os.Lstat(path)
	if err != nil {
		return err
	}
	want, ok := of.Sys().(*syscall.Stat_t)
	have, known := made.Sys().(*syscall.Stat_t)
	if !ok || !known || want.Uid == have.Uid && want.Gid == have.Gid {
		return nil
	}
	if os.Lchown(path, int(want.Uid), int(want.Gid)) != nil {
		return ErrOwner
	}
	return nil
}
