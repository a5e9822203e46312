package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeNow writes as much of p as a pipe or a socket takes without waiting. Of other files,
// and after a failure, it writes nothing, and the next write has the error.
func writeNow(f *os.File, p []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0
	}
	_ = raw.Control(func(fd uintptr) {
		if n, err = unix.Pwritev2(int(fd), [][]byte{p}, -1, unix.RWF_NOWAIT); err != nil {
			n = 0
		}
	})
	return n
}
