//go:build !unix

package edit

import (
	"os"
	"path/filepath"
)

// move renames an entry of one folder to an entry of another. It uses paths, since this system has
// no call that takes two open folders.
func move(from *os.Root, name string, to *os.Root, as string) error {
	return os.Rename(filepath.Join(from.Name(), name), filepath.Join(to.Name(), as))
}
