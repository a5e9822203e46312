package edit

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Sweep removes the remains of killed processes from a folder for trees, and the folder itself
// if it is then empty. It leaves the trees of living processes, and refuses a link. If a
// process was killed while it exchanged a tree, or before it removed the old folder, Sweep
// calls keep with the path of a folder that may be the old one. keep may move it away; Sweep
// removes its remains. If keep fails or is nil, the folder stays.
func Sweep(parent string, keep func(path string) error) error {
	root, err := realFolder(parent)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process has removed it since
	}
	if err != nil {
		return pathError("list", parent, err)
	}
	var failed error
	for _, e := range entries {
		if !IsTemporary(e.Name()) {
			continue
		}
		if !e.IsDir() {
			err = sweepFile(root, e.Name())
		} else {
			err = sweep(root, e.Name(), keep)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrLocked) {
			failed = errors.Join(failed, err)
		}
	}
	root.Close() // Windows removes no folder that is open
	if above, err := openFolder(filepath.Dir(parent)); err == nil {
		if info, err := above.Lstat(filepath.Base(parent)); err == nil && info.IsDir() {
			_ = above.Remove(filepath.Base(parent)) // fails if it is not empty
		}
		above.Close()
	}
	return failed
}

// SweepFiles removes from a folder the files that killed processes have left when they were
// replacing or creating a file in it.
func SweepFiles(dir string) error {
	root, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return pathError("list", dir, err)
	}
	for _, e := range entries {
		if IsTemporary(e.Name()) && e.Type().IsRegular() {
			err = errors.Join(err, sweepFile(root, e.Name()))
		}
	}
	return err
}

// sweepFile removes a temporary file, unless a living process has locked it.
func sweepFile(in *os.Root, name string) error {
	path := filepath.Join(in.Name(), name)
	info, err := in.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // it is gone, or not ours
	}
	f, err := in.Open(name)
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
	if err := in.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError("remove", path, err)
	}
	return nil
}

// sweep removes the folder name of parent.
func sweep(parent *os.Root, name string, keep func(path string) error) error {
	dir, err := openIn(parent, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	held, err := hold(parent, name, dir, 0)
	if err != nil {
		return err
	}
	defer held.Close()
	for _, part := range []string{swapFolder, asideWas} {
		if info, err := dir.Lstat(part); err != nil && errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue // a tree is a folder: anything else is not ours, and not the user's
		}
		if keep == nil {
			return nil
		}
		if err := keep(filepath.Join(dir.Name(), part)); err != nil {
			return err
		}
	}
	dir.Close()
	// A process that has just made this folder must not find it by its name while it is
	// removed.
	gone := tempPrefix + rand.Text()
	if parent.Rename(name, gone) != nil { // Windows moves no folder with an open file
		held.Close()
		gone = name
	}
	// The lock is removed last: another process must not take the remains for a folder of the
	// user.
	for _, part := range []string{swapFolder, asideWas, newFolder} {
		if err := removeAll(parent, filepath.Join(gone, part)); err != nil {
			return err
		}
	}
	return removeAll(parent, gone)
}

// removeAll removes a folder with a temporary name, or a part of one. If a [Sweep] of another
// process has put its lock there, or removes it too, it leaves the rest to that process.
func removeAll(in *os.Root, name string) (err error) {
	for range 100 { // until no other process comes between
		err = in.RemoveAll(name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) { // not empty
			break
		}
		if _, locked := in.Lstat(filepath.Join(name, heldFile)); locked == nil {
			return nil
		}
	}
	return pathError("remove", filepath.Join(in.Name(), name), err)
}

// Discard moves a folder to a temporary name in parent, which must not be a link, and
// removes it there. If the process is killed, [Sweep] removes the rest.
func Discard(path, parent string) error {
	return inFolderOf(path, func(from *os.Root, name string) error {
		was, err := from.Lstat(name)
		if err != nil {
			return pathError("remove", path, err)
		}
		return inFolder(parent, func(in *os.Root) error {
			if now, err := from.Lstat(name); err != nil || !os.SameFile(was, now) {
				return nil // another process was faster, and there may be a new one
			}
			gone := tempPrefix + rand.Text()
			if err := move(from, name, in, gone); err != nil {
				return pathError("remove", path, err)
			}
			return removeAll(in, gone)
		})
	})
}

// Spool is a file for bytes on their way. It is gone when it is closed, or when its process
// ends.
type Spool struct{ *os.File }

// NewSpool makes an empty spool in a folder, which it makes if it is missing.
func NewSpool(parent string) (s *Spool, err error) {
	err = inFolder(parent, func(in *os.Root) error {
		name := tempPrefix + rand.Text()
		f, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return pathError("make a file in", parent, err)
		}
		_ = in.Remove(name) // Windows removes no open file
		s = &Spool{f}
		return nil
	})
	return s, err
}

// Close closes and removes the file.
func (s *Spool) Close() error {
	err := s.File.Close()
	if runtime.GOOS == "windows" {
		_ = os.Remove(s.Name())
	}
	return err
}
