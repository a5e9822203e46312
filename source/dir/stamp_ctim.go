//go:build linux || openbsd || dragonfly || solaris || illumos

package dir

import (
	"io/fs"
	"syscall"

	"github.com/knack-dev/knack/skill"
)

// openNonblock prevents an open from waiting for a pipe's other end.
const openNonblock = syscall.O_NONBLOCK

func fillStamp(s *skill.Stamp, fi fs.FileInfo) {
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		s.CTime = syscall.TimespecToNsec(st.Ctim)
		s.Dev, s.Inode = uint64(st.Dev), uint64(st.Ino)
	}
}
