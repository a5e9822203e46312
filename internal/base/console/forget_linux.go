package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetKeys drops typed keys that no program has read yet.
func forgetKeys(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
