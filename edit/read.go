package edit

import (
	"io"
	"os"
	"syscall"
)

// Read reads a file that the user named, through links, and at most one byte more than most. It
// refuses a pipe or a device, which could block the process for ever, with [ErrIrregular].
func Read(path string, most int64) ([]byte, error) {
	regular := func(info os.FileInfo, err error) error {
		if err == nil && !info.Mode().IsRegular() {
			err = pathError("open", path, ErrIrregular)
		}
		return err
	}
	if err := regular(os.Stat(path)); err != nil { // opening some devices has effects
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := regular(f.Stat()); err != nil { // it may have been replaced
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, most+1))
}
