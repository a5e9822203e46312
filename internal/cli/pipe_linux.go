package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// hasRoom reports whether a pipe takes n bytes at once: an empty pipe does, up to its size
// less one page. Another writer can make the answer wrong.
func hasRoom(f *os.File, n int) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	room := false
	err = raw.Control(func(fd uintptr) {
		waiting, err := unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		if err != nil || waiting != 0 {
			return
		}
		size, err := unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		room = err == nil && n <= size-os.Getpagesize()
	})
	return err == nil && room
}
