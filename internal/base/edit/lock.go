package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrLocked is returned for a file that is locked by another process, or by another caller in this
// one.
var ErrLocked = errors.New("another process has locked it")

// Lock locks the file at path, which need not exist, against other callers of Lock and [Share]. It
// makes an empty file path.lock, and the folders above it. The lock ends with unlock or with the
// process, and the empty file stays. On a system without such locks, Lock locks nothing.
func Lock(path string) (unlock func(), err error) { return lockBeside(path, lock) }

// Share locks the file at path as [Lock] does, but with a lock that several callers of Share can
// have together. It waits until a caller of Lock has unlocked the file.
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
	// Unlock before Close: a child that was forked and has not started its program yet has the file
	// open too.
	return func() { unlockFile(f); f.Close() }, nil
}
