//go:build linux || darwin

package edit

import (
	"math"

	"golang.org/x/sys/unix"
)

// Room returns how many bytes the user may still write below a folder, if the system tells it.
func Room(dir string) (bytes int64, known bool) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return 0, false
	}
	size := uint64(max(s.Bsize, 1))
	return int64(min(s.Bavail, math.MaxInt64/size) * size), true
}
