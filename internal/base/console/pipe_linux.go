package console

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// now writes to a file without blocking.
type now struct {
	mu   sync.Mutex
	done bool // open or close was called, so that open does nothing
	send func(pieces [][]byte) (int, error)
	fd   int // the descriptor that send uses
}

// write writes as many bytes to f as f accepts without blocking, and returns the number of bytes.
// It writes only to pipes and sockets. It ignores failures, because the next ordinary write fails
// too.
func (w *now) write(f *os.File, pieces [][]byte) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.done = true
		w.open(f)
	}
	if w.send != nil {
		n, _ = w.send(pieces)
	}
	return max(n, 0)
}

// open prepares writes without blocking. O_NONBLOCK belongs to the open file description of a pipe,
// which standard output may share with other processes. So open opens the pipe a second time. This
// fails without /proc, and for a pipe of another user. Go's poller is not used, since it makes each
// write slower.
func (w *now) open(f *os.File) {
	raw, err := f.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		var first, again unix.Stat_t
		flags, err := unix.FcntlInt(fd, unix.F_GETFL, 0)
		if err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY || unix.Fstat(int(fd), &first) != nil {
			return
		}
		switch first.Mode & unix.S_IFMT {
		case unix.S_IFSOCK: // Node's pipes are sockets
			if w.fd, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0); err == nil {
				w.send = func(pieces [][]byte) (int, error) {
					return unix.SendmsgBuffers(w.fd, pieces, nil, nil, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
				}
			}
		case unix.S_IFIFO:
			w.fd, err = unix.Open("/proc/self/fd/"+strconv.Itoa(int(fd)), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
			switch {
			case err != nil:
			case unix.Fstat(w.fd, &again) != nil || again.Dev != first.Dev || again.Ino != first.Ino:
				_ = unix.Close(w.fd)
			default:
				w.send = func(pieces [][]byte) (int, error) { return unix.Writev(w.fd, pieces) }
			}
		}
	})
}

// close closes the descriptor. Later calls of write do nothing.
func (w *now) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.done = true; w.send != nil {
		w.send = nil
		_ = unix.Close(w.fd)
	}
}
