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
// makes an empty file path.lock, and the folders above it. Calling unlock, or the end of the
// process, removes the lock; the empty file stays. On a system without file locks, Lock locks
// nothing.
func Lock(path string) (unlock func(), err error) { return lockBeside(path, lock) }

// Share locks the file at path against callers of [Lock], but not against other callers of Share.
// It waits until a caller of Lock has unlocked the file.
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
	// Unlock before Close, because a forked child that has not started its program yet also has the
	// file open.
	return func() { unlockFile(f); f.Close() }, nil
}
