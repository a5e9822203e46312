//go:build !(linux || openbsd || dragonfly || solaris || illumos || darwin || freebsd || netbsd)

package dir

import (
	"io/fs"

	"github.com/knack-dev/knack/skill"
)

// openNonblock has no counterpart here, and there are no pipes in folders.
const openNonblock = 0

// fillStamp has nothing to add: size and time of change are all that a stat tells.
func fillStamp(*skill.Stamp, fs.FileInfo) {}
