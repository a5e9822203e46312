package edit

import (
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// Read reads a file that the user named. It follows links, and reads at most most+1 bytes. For a
// pipe or a device, which could block the process for ever, the error is [ErrIrregular]. For a disk
// that does not answer, it is [realpath.ErrSilent].
func Read(path string, most int64) ([]byte, error) {
	return read(path, most, func(fs.FileInfo) error { return nil })
}

// ReadOwn is [Read] for a file that no other user could have written. The file belongs to this user
// or to the administrator, and neither its group nor others may write it.
func ReadOwn(path string, most int64) ([]byte, error) {
	return read(path, most, func(info fs.FileInfo) error {
		if !isOwn(info) {
			return pathError("open", path, errForeign)
		}
		return nil
	})
}

func read(path string, most int64, allow func(fs.FileInfo) error) ([]byte, error) {
	if realpath.Silent(path) {
		return nil, pathError("open", path, realpath.ErrSilent)
	}
	regular := func(info os.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = pathError("open", path, ErrIrregular)
		}
		return err
	}
	if err := regular(os.Stat(path)); err != nil { // opening some devices has effects
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err := regular(info, err); err != nil { // it may have been replaced
		return nil, err
	}
	if err := allow(info); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}
