package edit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func syncTree(root *os.Root) error { return syncEach(root) }

// exchange swaps two folders atomically. The error is [errors.ErrUnsupported] if the file system
// cannot do so.
func exchange(from *os.Root, name string, with *os.Root, as string) error {
	err := inBoth(from, with, func(a, b int) error { return unix.RenameatxNp(a, name, b, as, unix.RENAME_SWAP) })
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}

func moveNew(from *os.Root, name string, to *os.Root, as string) error {
	return moveChecked(from, name, to, as)
}
