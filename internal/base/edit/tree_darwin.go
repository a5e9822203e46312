package edit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

func syncTree(root *os.Root) error { return syncEach(root) }

// exchange swaps two folders atomically. The error is [errors.ErrUnsupported] if the file
// system cannot.
func exchange(a, b string) error {
	err := unix.RenamexNp(a, b, unix.RENAME_SWAP)
	if errors.Is(err, unix.EINVAL) {
		return errors.ErrUnsupported
	}
	return err
}

func moveNew(from, to string) error { return moveChecked(from, to) }
