package edit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncTree flushes the tree's file system to the disk.
func syncTree(root *os.Root) error {
	f, err := root.Open(".")
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// exchange swaps two folders atomically. The error is [errors.ErrUnsupported] if the file system
// cannot do so.
func exchange(from *os.Root, name string, with *os.Root, as string) error {
	return unsupported(inBoth(from, with, func(a, b int) error {
		return unix.Renameat2(a, name, b, as, unix.RENAME_EXCHANGE)
	}))
}

// moveNew renames a folder to a name that does not exist.
func moveNew(from *os.Root, name string, to *os.Root, as string) error {
	err := unsupported(inBoth(from, to, func(a, b int) error {
		return unix.Renameat2(a, name, b, as, unix.RENAME_NOREPLACE)
	}))
	if errors.Is(err, errors.ErrUnsupported) {
		return moveChecked(from, name, to, as)
	}
	return err
}

// unsupported returns [errors.ErrUnsupported] for the errors of a file system or kernel that does
// not support a flag of renameat2, and other errors unchanged.
func unsupported(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		return errors.ErrUnsupported
	}
	return err
}
