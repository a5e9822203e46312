package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"time"
)

// fileMode allows only the operator to read the log. An existing file keeps its mode.
const fileMode fs.FileMode = 0o600

// retryAfter is the time between a failed rotation and the next attempt.
const retryAfter = time.Minute

type errLost uint64

func (n errLost) Error() string {
	return strconv.FormatUint(uint64(n), 10) + " lines of the audit log could not be written"
}

// stream is a sink that cannot be reopened.
type stream struct {
	w    io.Writer
	torn bool // the stream ends within a line
}

func (s *stream) write(lines []byte) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	if s.torn {
		if _, err := s.w.Write([]byte("\n")); err != nil {
			return 0, err
		}
		s.torn = false
	}
	n, err := s.w.Write(lines)
	if err == nil {
		return n, nil
	}
	whole := bytes.LastIndexByte(lines[:n], '\n') + 1
	s.torn = whole < n
	return whole, err
}

func (*stream) reopen() error { return nil }
func (*stream) close() error  { return nil }

// file is a sink that writes to a file and rotates it: name.1 is the previous file, and name.2 the
// one before that.
//
// It does not use package edit, which reads the file first: the operator may have made it
// write-only. A rotation also replaces existing files, which package edit never does.
type file struct {
	path    string
	maxSize int64
	keep    int
	trouble func(error)

	f     *os.File
	size  int64
	torn  bool
	again time.Time // no rotation is tried before this time
}

// ErrIrregular is the error for a log path that is not a regular file.
var ErrIrregular = errors.New("it is not a regular file")

func (l *file) open() error {
	// A pipe without a reader would block the start.
	if info, err := os.Stat(l.path); err == nil && !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: l.path, Err: ErrIrregular}
	}
	f, err := os.OpenFile(l.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|openFlags, fileMode)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: l.path, Err: ErrIrregular}
	}
	if err != nil {
		f.Close()
		return err
	}
	l.f, l.size, l.torn = f, info.Size(), endsTorn(l.path, info.Size())
	return nil
}

// endsTorn reports whether the file ends within a line, because its last writer was killed.
func endsTorn(path string, size int64) bool {
	if size == 0 {
		return false
	}
	f, err := os.Open(path)
	if err != nil {
		return false // the file may be writable but not readable
	}
	defer f.Close()
	var last [1]byte
	_, err = f.ReadAt(last[:], size-1)
	return err == nil && last[0] != '\n'
}

func (l *file) write(lines []byte) (int, error) {
	if len(lines) == 0 {
		return 0, nil
	}
	if l.maxSize > 0 && l.size > 0 && l.size+int64(len(lines)) > l.maxSize && !time.Now().Before(l.again) {
		if err := l.rotate(); err != nil {
			l.again = time.Now().Add(retryAfter)
			l.trouble(fmt.Errorf("another file cannot be begun, so this one grows: %w", err))
		}
	}
	if l.f == nil { // neither the next file nor the previous one could be opened
		if err := l.open(); err != nil {
			return 0, err
		}
	}
	if l.torn {
		if _, err := l.f.Write([]byte("\n")); err != nil {
			return 0, err
		}
		l.torn = false
		l.size++
	}
	n, err := l.f.Write(lines)
	if err == nil {
		l.size += int64(n)
		return n, nil
	}
	whole := bytes.LastIndexByte(lines[:n], '\n') + 1
	l.size += int64(whole)
	if whole < n && l.f.Truncate(l.size) != nil {
		l.size += int64(n - whole)
		l.torn = true
	}
	return whole, err
}

// rotate renames the files, the oldest first, and begins a new one. If it is interrupted, the
// files still have every line.
func (l *file) rotate() error {
	name := func(n int) string { return l.path + "." + strconv.Itoa(n) }
	if err := l.f.Close(); err != nil { // it may report that data was not written
		l.f = nil
		return errors.Join(err, l.open())
	}
	l.f = nil
	for n := max(l.keep, 1); n > 0; n-- {
		from := l.path
		if n > 1 {
			from = name(n - 1)
		}
		if err := os.Rename(from, name(n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, l.open())
		}
	}
	return l.open()
}

// reopen opens the path again. If that fails, it continues with the old file.
func (l *file) reopen() error {
	old := l.f
	if err := l.open(); err != nil {
		return err
	}
	if old != nil {
		return old.Close()
	}
	return nil
}

func (l *file) close() error {
	if l.f == nil {
		return nil
	}
	return errors.Join(l.f.Sync(), l.f.Close())
}
