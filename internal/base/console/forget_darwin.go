package console

import (
	"os"

	"golang.org/x/sys/unix"
)

// forgetKeys drops typed keys that no program has read yet.
func forgetKeys(f *os.File) {
	const read = 1 // FREAD of sys/fcntl.h: the input queue
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
