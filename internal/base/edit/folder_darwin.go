package edit

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// statPlain describes the folder at path, and fails with [ErrLink] if any part of the path is a
// link. The kernel checks all parts in one call.
func statPlain(path string) (fs.FileInfo, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW_ANY, 0)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, ErrLink
	case errors.Is(err, unix.EINVAL):
		return statParts(path) // macOS before 11
	case err != nil:
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Stat()
}
