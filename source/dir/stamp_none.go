//go:build !(linux || openbsd || dragonfly || solaris || illumos || darwin || freebsd || netbsd)

package dir

import (
	"io/fs"

	"github.com/knack-dev/knack/skill"
)

// openNonblock is 0 on these systems, where folders contain no pipes.
const openNonblock = 0

// fillStamp adds nothing. On these systems, a stat returns only the size and the modification time.
func fillStamp(*skill.Stamp, fs.FileInfo) {}
