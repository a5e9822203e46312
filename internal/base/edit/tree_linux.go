package edit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncTree writes what is in memory to the tree's file system.
func syncTree(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// exchange swaps two folders atomically. The error is [errors.ErrUnsupported] if the file
// system cannot.
func exchange(a, b string) error {
	return unsupported(unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE))
}

// moveNew renames a folder to a path that does not exist.
func moveNew(from, to string) error {
	err := unsupported(unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_NOREPLACE))
	if errors.Is(err, errors.ErrUnsupported) {
		return moveChecked(from, to)
	}
	return err
}

// unsupported returns [errors.ErrUnsupported] for the errors of a file system that does not
// know the flags of renameat2.
func unsupported(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
