//go:build linux || darwin

package edit

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxBlock bounds the block size of a file system, in bytes. Disks use at most 64 KiB, and network
// file systems report the size of a transfer instead.
const maxBlock = 64 << 10

// RoomOf returns the free space of the file system on which the folder dir is or will be made.
// known is false if the system does not report it.
func RoomOf(dir string) (s Space, known bool) {
	var stat unix.Statfs_t
	err := unix.Statfs(dir, &stat)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
		err = unix.Statfs(dir, &stat)
	}
	if err != nil {
		return Space{}, false
	}
	size := uint64(max(stat.Bsize, 1))
	s = Space{Bytes: int64(min(stat.Bavail, math.MaxInt64/size) * size), Block: int64(min(size, maxBlock)), Inodes: -1}
	if stat.Files > 0 { // some file systems, such as btrfs, do not count inodes
		s.Inodes = int64(min(stat.Ffree, math.MaxInt64))
	}
	return s, true
}
