//go:build !(darwin || linux)

package edit

import (
	"errors"
	"os"
)

func syncTree(root *os.Root) error { return syncEach(root) }

// exchange swaps nothing: see [Tree.Exchange].
func exchange(string, string) error { return errors.ErrUnsupported }

func moveNew(from, to string) error { return moveChecked(from, to) }
