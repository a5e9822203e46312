package edit

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Sweep removes the folders that killed processes have left in parent, in which trees are written.
// It also removes parent if that is then empty. It leaves the trees of living processes, and
// refuses a link. If a process was killed during or after an exchange, its folder may contain the
// user's old folder. Sweep calls keep with that folder's path. keep may move the old folder away;
// Sweep removes the rest. If keep fails or is nil, the folder stays.
func Sweep(parent string, keep func(path string) error) error {
	root, err := realFolder(parent)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), ".")
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process has removed the folder
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
	root.Close() // Windows cannot remove an open folder
	if above, err := openFolder(filepath.Dir(parent)); err == nil {
		if info, err := above.Lstat(filepath.Base(parent)); err == nil && info.IsDir() {
			_ = above.Remove(filepath.Base(parent)) // fails if the folder is not empty
		}
		above.Close()
	}
	return failed
}

// SweepFiles removes from a folder the temporary files of processes that were killed while they
// replaced or created a file there.
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
		return nil // the file is gone, or not knack's
	}
	f, err := in.Open(name)
	if err != nil {
		return pathError("remove", path, err)
	}
	defer f.Close()
	if lockFile(f) != nil { // the file is locked, or the system has no locks
		return nil
	}
	if runtime.GOOS == "windows" { // Windows cannot remove an open file
		f.Close()
	}
	if err := in.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return pathError("remove", path, err)
	}
	return nil
}

// sweep removes the folder name of parent, which a killed process has left. It calls keep for an
// old folder in it.
func sweep(parent *os.Root, name string, keep func(path string) error) error {
	dir, err := openIn(parent, name)
	if err != nil {
		return err
	}
	defer dir.Close()
	handle, err := hold(parent, name, dir, 0)
	if err != nil {
		return err
	}
	defer handle.Close()
	for _, part := range []string{swapFolder, asideWas} {
		if info, err := dir.Lstat(part); err != nil && errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
			continue // neither knack nor the user made it, since a tree is a folder
		}
		if keep == nil {
			return nil
		}
		if err := keep(filepath.Join(dir.Name(), part)); err != nil {
			return err
		}
	}
	dir.Close()
	// Rename the folder first. Another process may have just made it, and not locked it yet. That
	// process must not find its folder half removed.
	gone := tempPrefix + rand.Text()
	if parent.Rename(name, gone) != nil { // Windows cannot move a folder with an open file
		handle.Close()
		gone = name
	}
	// Remove the lock last. Otherwise another process could mistake the rest for a folder of the
	// user.
	for _, part := range []string{swapFolder, asideWas, newFolder} {
		if err := removeAll(parent, filepath.Join(gone, part)); err != nil {
			return err
		}
	}
	return removeAll(parent, gone)
}

// removeAll removes a folder with a temporary name, or a part of one. If another process's [Sweep]
// locks the folder or removes it at the same time, removeAll leaves the rest to that process.
func removeAll(in *os.Root, name string) (err error) {
	for range 100 { // until no other process interferes
		err = in.RemoveAll(name)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, fs.ErrExist) { // the folder was not empty
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
				return nil // another process moved this folder, and may have put a new one there
			}
			gone := tempPrefix + rand.Text()
			if err := move(from, name, in, gone); err != nil {
				return pathError("remove", path, err)
			}
			return removeAll(in, gone)
		})
	})
}

// Spool is a temporary file for bytes in transit. It is removed when it is closed, or when its
// process ends.
type Spool struct{ *os.File }

// NewSpool makes an empty spool in a folder, which it makes if it is missing.
func NewSpool(parent string) (s *Spool, err error) {
	err = inFolder(parent, func(in *os.Root) error {
		name := tempPrefix + rand.Text()
		f, err := in.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return pathError("make a file in", parent, err)
		}
		_ = in.Remove(name) // Windows cannot remove an open file
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
