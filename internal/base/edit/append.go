package edit

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// errTorn is returned for a file whose last line has no end and was written by a different program.
var errTorn = errors.New("its last line has no end; it is another program's, or was changed")

// Lines is a file to which whole lines are appended.
type Lines struct {
	f    *os.File
	path string
}

// Append opens a file for [Lines.Add]. It makes a missing file, readable only for its owner, but
// makes no folder. Each added line must begin with the text begin. A last line that begins with
// this text and has no end was left by a killed process, and Append removes it. Several processes
// may append to one file.
func Append(path, begin string) (*Lines, error) {
	// Opening a pipe without a reader would block.
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, pathError("open", path, ErrIrregular)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Lines{f, path}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular(): // the file was replaced after the check above
		err = pathError("open", path, ErrIrregular)
	default:
		err = l.mend(begin)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return l, nil
}

// mend removes an unfinished last line that begins with begin.
func (l *Lines) mend(begin string) error {
	if err := lock(l.f); errors.Is(err, ErrLocked) {
		return nil // another process is about to finish its line
	}
	defer unlockFile(l.f)
	size, err := l.f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	at, rest := size, []byte(nil) // rest has the bytes from offset at on
	for at > 0 && bytes.IndexByte(rest, '\n') < 0 {
		part := make([]byte, min(at, 64<<10))
		if _, err := l.f.ReadAt(part, at-int64(len(part))); err != nil {
			return err
		}
		at -= int64(len(part))
		rest = append(part, rest[:min(len(rest), len(begin))]...)
	}
	end := bytes.LastIndexByte(rest, '\n') + 1
	at, rest = at+int64(end), rest[end:]
	switch n := min(len(rest), len(begin)); {
	case len(rest) == 0:
		return nil
	case string(rest[:n]) != begin[:n]:
		return pathError("append to", l.path, errTorn)
	}
	return l.truncate(at)
}

// truncate cuts the file to size. Windows cannot cut a file through a handle for appending.
func (l *Lines) truncate(size int64) error {
	if l.f.Truncate(size) == nil {
		return nil
	}
	return os.Truncate(l.path, size)
}

// Add appends one line, which includes its line end, in one write. If the write fails, Add removes
// the part that was written, unless another process has appended a line behind it.
func (l *Lines) Add(line []byte) error {
	writing.RLock()
	defer writing.RUnlock()
	_ = share(l.f) // without locks, a process that opens the file may remove the unfinished line
	defer unlockFile(l.f)
	n, err := l.f.Write(line)
	if err != nil && n > 0 {
		l.undo(int64(n))
	}
	if p := (*fs.PathError)(nil); errors.As(err, &p) {
		err = pathError("append to", l.path, p.Err)
	}
	return err
}

// undo cuts off the n bytes just written, unless another process has appended a line since.
func (l *Lines) undo(n int64) {
	end, err := l.f.Seek(0, io.SeekCurrent)
	info, statErr := l.f.Stat()
	if err == nil && statErr == nil && info.Size() == end {
		_ = l.truncate(end - n)
	}
}

// Close closes the file.
func (l *Lines) Close() error { return l.f.Close() }
