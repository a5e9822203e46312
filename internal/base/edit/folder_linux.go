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
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	fd, err := openat2(path, &how)
	switch {
	case errors.Is(err, unix.ELOOP):
		return nil, ErrLink
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM), errors.Is(err, unix.EINVAL), errors.Is(err, unix.E2BIG):
		return statParts(path) // a kernel before 5.6, or a sandbox
	case err != nil:
		return nil, err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	return f.Stat()
}

// openat2 calls openat2(2). Tests replace it.
var openat2 = func(path string, how *unix.OpenHow) (fd int, err error) {
	for {
		fd, err = unix.Openat2(unix.AT_FDCWD, path, how)
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}
