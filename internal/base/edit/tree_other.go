//go:build !(darwin || linux)

package edit

import (
	"errors"
	"os"
)

func syncTree(root *os.Root) error { return syncEach(root) }

// exchange swaps nothing: see [Tree.Exchange].
func exchange(*os.Root, string, *os.Root, string) error { return errors.ErrUnsupported }

func moveNew(from *os.Root, name string, to *os.Root, as string) error {
	return moveChecked(from, name, to, as)
}
