package console

import (
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// now writes to a file without waiting.
type now struct {
	once sync.Once
	raw  syscall.RawConn // nil if a write may wait
	send func(fd int, p []byte) (int, error)
	pipe *os.File
}

// write writes as much of p as f takes without waiting, and returns how many bytes. A failure
// is left to the next write, and so are files other than pipes and sockets.
func (w *now) write(f *os.File, p []byte) (n int) {
	w.once.Do(func() { w.open(f) })
	if w.raw == nil {
		return 0
	}
	_ = w.raw.Write(func(fd uintptr) bool {
		n, _ = w.send(int(fd), p)
		return true
	})
	return max(n, 0)
}

// open finds out how to write. Whether a write to a pipe waits is a property of its open
// description, which the standard output may share with other processes. Hence the pipe is
// opened once more. That fails if another user has made the pipe, and without /proc.
func (w *now) open(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		var is, again unix.Stat_t
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY || unix.Fstat(int(fd), &is) != nil {
			return
		}
		switch is.Mode & unix.S_IFMT {
		case unix.S_IFSOCK: // as Node's pipes are
			w.raw, w.send = raw, func(fd int, p []byte) (int, error) {
				return unix.SendmsgN(fd, p, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
			}
		case unix.S_IFIFO:
			n, err := unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			if err != nil {
				return
			}
			w.pipe = os.NewFile(uintptr(n), f.Name())
			if unix.Fstat(n, &again) == nil && again.Dev == is.Dev && again.Ino == is.Ino {
				w.raw, _ = w.pipe.SyscallConn()
				w.send = unix.Write
			}
		}
	})
}

// close closes what open has opened.
func (w *now) close() {
	w.once.Do(func() {}) // nothing is opened from now on
	if w.pipe != nil {
		_ = w.pipe.Close()
	}
}
