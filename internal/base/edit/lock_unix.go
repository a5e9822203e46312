//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package edit

import (
	"errors"
	"os"
	"syscall"
)

// lock locks an open file.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// share waits for a shared lock of an open file. Closing the file ends the lock.
func share(f *os.File) error {
	for {
		if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// unlockFile unlocks an open file, even if other processes have it open.
func unlockFile(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }
