package edit

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lock locks an open file. Closing the file ends the lock.
func lock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// share waits for a shared lock of an open file. Closing the file ends the lock.
func share(f *os.File) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), 0, 0, 1, 0, &windows.Overlapped{})
}

// unlockFile does nothing: closing the file unlocks it, and no child inherits it.
func unlockFile(*os.File) {}
