package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// writeNow writes as much of p as f takes without waiting, and returns how many bytes. It
// writes nothing if the system cannot do that with f, and after a failure, which the next
// write reports.
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
