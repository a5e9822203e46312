package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetKeys drops what a terminal has received and no program has read.
func forgetKeys(f *os.File) {
	const read = 1 // FREAD of sys/fcntl.h: the queue of keys
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
