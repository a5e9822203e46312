package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked is returned for a file that another process, or another caller of this one, has
// locked.
var ErrLocked = errors.New("another process has locked it")

// Lock locks the file at path, which need not exist, for the callers of Lock. It makes an
// empty file beside it, called path.lock, with the folders above. The lock ends with unlock or
// with the process, and the empty file stays. A system without such locks locks nothing.
func Lock(path string) (unlock func(), err error) { return lockBeside(path, lock) }

// Share locks the file at path as [Lock] does, but together with other callers of Share. It
// waits until a caller of Lock has unlocked it.
func Share(path string) (unlock func(), err error) { return lockBeside(path, share) }

func lockBeside(path string, lock func(*os.File) error) (unlock func(), err error) {
	in, err := makeFolder(filepath.Dir(path), 0o777)
	if err != nil {
		return nil, pathError("make the folder of", path, err)
	}
	defer in.Close()
	beside := path + ".lock"
	if info, err := in.Lstat(filepath.Base(beside)); err == nil && !info.Mode().IsRegular() {
		return nil, pathError("lock", beside, ErrIrregular)
	}
	f, err := in.OpenFile(filepath.Base(beside), os.O_RDWR|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, pathError("lock", beside, err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "lock", Path: path, Err: err}
	}
	// A child that was forked and has not yet started its program has the file open too.
	return func() { unlockFile(f); f.Close() }, nil
}
