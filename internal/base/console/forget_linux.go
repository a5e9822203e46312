package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetKeys drops what a terminal has received and no program has read.
func forgetKeys(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
