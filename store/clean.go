package store

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/knack-dev/knack/edit"
)

// clean removes what killed processes have left and, once a day and if no other process uses
// the store, what has not been used for long. It is no fault if something stays.
func (s *Store) clean() {
	tmp := s.at(tmpFolder)
	_ = edit.Sweep(tmp, func(string) error { return nil }) // nothing in it is the user's
	now, stamp := s.o.Now(), s.at(sweptName)
	info, err := os.Stat(stamp)
	if err == nil && now.Sub(info.ModTime()).Abs() < 24*time.Hour {
		return
	}
	unlock, err := edit.Lock(s.at(lockName))
	if err != nil {
		return
	}
	defer unlock()
	if err := edit.Create(stamp, nil, 0o600); err != nil && !errors.Is(err, edit.ErrExists) {
		return
	}
	_ = os.Chtimes(stamp, now, now)
	for _, old := range s.unused(now) {
		_ = edit.Discard(old, tmp)
	}
}

// unused returns the folders that were last used before the time for which the store keeps
// them. It passes over names that the store does not give, which may be the user's.
func (s *Store) unused(now time.Time) (old []string) {
	add := func(folder string, digits int) {
		entries, _ := os.ReadDir(folder)
		for _, e := range entries {
			if info, err := e.Info(); err == nil && isHex(e.Name(), digits) && now.Sub(info.ModTime()) > s.o.Keep {
				old = append(old, filepath.Join(folder, e.Name()))
			}
		}
	}
	add(s.at(gitFolder), 64)
	entries, _ := os.ReadDir(s.at(skillsFolder))
	for _, e := range entries {
		if isHex(e.Name(), 2) {
			add(s.at(skillsFolder, e.Name()), 62)
		}
	}
	return old
}

// isHex reports whether a name has this many hexadecimal digits, and nothing else.
func isHex(name string, digits int) bool {
	return len(name) == digits && strings.Trim(name, "0123456789abcdef") == ""
}

// fault is an error of the store's folder in words: what happened, where, and what to do.
func (s *Store) fault(err error) error {
	if err == nil || errors.Is(err, edit.ErrExists) {
		return err
	}
	if f := (*Fault)(nil); errors.As(err, &f) {
		return err
	}
	return &Fault{s.dir, s.o.Setting, err}
}

// Fault is an error of the store's folder.
type Fault struct {
	Dir     string // the store's folder
	Setting string // the name of the setting for it, or ""
	Err     error
}

// Unwrap returns the error of the system.
func (f *Fault) Unwrap() error { return f.Err }

// Error says what happened and what to do.
func (f *Fault) Error() string {
	elsewhere := ""
	if f.Setting != "" {
		elsewhere = fmt.Sprintf(", or set %s to another folder", f.Setting)
	}
	switch {
	case isFull(f.Err):
		return fmt.Sprintf("the disk of the store %s is full: free some space (the store itself can be deleted)%s", f.Dir, elsewhere)
	case errors.Is(f.Err, syscall.EROFS):
		return fmt.Sprintf("the store %s is on a read-only file system: make it writable%s", f.Dir, elsewhere)
	case errors.Is(f.Err, fs.ErrPermission):
		return fmt.Sprintf("knack may not write to the store %s: give yourself the permission%s (%v)", f.Dir, elsewhere, f.Err)
	case errors.Is(f.Err, fs.ErrNotExist):
		return fmt.Sprintf("something in the store %s was removed while it was used: try again (%v)", f.Dir, f.Err)
	}
	return fmt.Sprintf("the store %s: %v", f.Dir, f.Err)
}

// isFull reports whether a disk, or the part of it that the user may have, is full.
func isFull(err error) bool {
	const errorDiskFull = syscall.Errno(112) // of Windows
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || runtime.GOOS == "windows" && errors.Is(err, errorDiskFull)
}
