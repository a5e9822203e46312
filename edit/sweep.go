package edit

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Sweep removes from a folder for trees what processes that were killed have left there, and
// the folder itself if it is then empty. It leaves the trees of living processes. If a process
// was killed while it exchanged a tree, or before it removed the old folder, Sweep calls keep
// with the path of a folder that may be the old one. keep may move it away; Sweep removes
// what is left of it. If keep fails or is nil, the folder stays.
func Sweep(parent string, keep func(path string) error) error {
	entries, err := os.ReadDir(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return pathError("list", parent, err)
	}
	var failed error
	for _, e := range entries {
		if !IsTemporary(e.Name()) {
			continue
		}
		path := filepath.Join(parent, e.Name())
		if !e.IsDir() {
			err = sweepFile(path)
		} else {
			err = sweep(parent, path, keep)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrLocked) {
			failed = errors.Join(failed, err)
		}
	}
	_ = os.Remove(parent) // fails if it is not empty
	return failed
}

// SweepFiles removes from a folder the files that killed processes have left when they were
// replacing or creating a file in it.
func SweepFiles(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return pathError("list", dir, err)
	}
	for _, e := range entries {
		if IsTemporary(e.Name()) && e.Type().IsRegular() {
			err = errors.Join(err, sweepFile(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// sweepFile removes a temporary file, unless a living process has locked it.
func sweepFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return nil // it is gone, or not ours
	}
	f, err := os.Open(path)
	if err != nil {
		return pathError("remove", path, err)
	}
	defer f.Close()
	if lockFile(f) != nil { // it is locked, or nothing can be
		return nil
	}
	if runtime.GOOS == "windows" { // it removes no open file
		f.Close()
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError("remove", path, err)
	}
	return nil
}

func sweep(parent, dir string, keep func(path string) error) error {
	held, err := hold(dir, 0)
	if err != nil {
		return err
	}
	defer held.Close()
	for _, name := range []string{swapFolder, asideWas} {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if keep == nil {
			return nil
		}
		if err := keep(path); err != nil {
			return err
		}
	}
	// A process that has just made this folder must not find it by its name while it goes.
	gone := filepath.Join(parent, tempPrefix+rand.Text())
	if os.Rename(dir, gone) != nil { // Windows moves no folder with an open file
		held.Close()
		gone = dir
	}
	if err := os.RemoveAll(gone); err != nil {
		return pathError("remove", gone, err)
	}
	return nil
}

// Discard moves a folder to a temporary name in the folder parent, and removes it there. If the
// process is killed, [Sweep] removes the rest.
func Discard(path, parent string) error {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return pathError("make the folder", parent, err)
	}
	gone := filepath.Join(parent, tempPrefix+rand.Text())
	if err := os.Rename(path, gone); err != nil {
		return pathError("remove", path, err)
	}
	if err := os.RemoveAll(gone); err != nil {
		return pathError("remove", gone, err)
	}
	return nil
}

// Spool is a file for bytes on their way. It is gone when it is closed, or when its process
// ends.
type Spool struct{ *os.File }

// NewSpool makes an empty spool in a folder, which it makes if it is missing.
func NewSpool(parent string) (*Spool, error) {
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, pathError("make the folder", parent, err)
	}
	f, err := os.OpenFile(filepath.Join(parent, tempPrefix+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, pathError("make a file in", parent, err)
	}
	_ = os.Remove(f.Name()) // Windows removes no open file
	return &Spool{f}, nil
}

// Close closes and removes the file.
func (s *Spool) Close() error {
	err := s.File.Close()
	_ = os.Remove(s.Name())
	return err
}
