package edit

import (
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"syscall"

	"github.com/knack-dev/knack/internal/base/display"
)

// Space is the space that a user may still use on a file system.
type Space struct {
	Bytes  int64
	Block  int64 // bytes that the smallest file takes
	Inodes int64 // number of files and folders, or -1 if they are not counted
}

// Extent is the number and size of files that are to be written.
type Extent struct {
	Entries int   // number of files and folders
	Bytes   int64 // of the files' contents
}

// Add adds another extent.
func (e *Extent) Add(other Extent) { e.Entries += other.Entries; e.Bytes += other.Bytes }

// Fit returns a [*NoRoom] if a file system has no room for files of this extent. It assumes that
// each file takes one block more than its bytes, and each folder one block.
func (s Space) Fit(e Extent) error {
	blocks := int64(e.Entries) * s.Block
	switch {
	case e.Bytes > s.Bytes-blocks: // the comparison avoids a sum, which could overflow
		return &NoRoom{fmt.Sprintf("has %s MB left, and the files to write may need %s MB", megabytes(float64(s.Bytes)), megabytes(float64(e.Bytes)+float64(blocks)))}
	case s.Inodes >= 0 && int64(e.Entries) > s.Inodes:
		return &NoRoom{fmt.Sprintf("has %s inodes left, and writing needs %s, one for each file and folder", display.Thousands(int(s.Inodes)), display.Thousands(e.Entries))}
	}
	return nil
}

// IsFull reports whether err is the error of a full disk or of an exhausted quota.
func IsFull(err error) bool {
	const errorDiskFull = syscall.Errno(112) // of Windows
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, errorDiskFull)
}

// NoRoom is the error of a file system without enough space, found before anything is written.
type NoRoom struct{ lack string }

// Error describes the free and the needed space. Its text follows the name of a folder.
func (n *NoRoom) Error() string { return n.lack }

func megabytes(n float64) string { return strconv.FormatFloat(n/1e6, 'f', 1, 64) }
