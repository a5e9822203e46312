//go:build unix

package edit

import (
	"os"

	"golang.org/x/sys/unix"
)

// move renames an entry of one folder to an entry of another. It follows no link.
func move(from *os.Root, name string, to *os.Root, as string) error {
	return inBoth(from, to, func(a, b int) error { return unix.Renameat(a, name, b, as) })
}

// inBoth calls do with the descriptors of two open folders.
func inBoth(from, to *os.Root, do func(from, to int) error) error {
	a, err := from.Open(".")
	if err != nil {
		return err
	}
	defer a.Close()
	b, err := to.Open(".")
	if err != nil {
		return err
	}
	defer b.Close()
	return do(int(a.Fd()), int(b.Fd()))
}
