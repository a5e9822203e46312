package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Take moves an existing folder away from its place, into the tree, which must be empty. The
// tree is then that folder: the caller may look at it, place it elsewhere, or remove it.
func (t *Tree) Take(from string) error {
	writing.RLock()
	defer writing.RUnlock()
	if info, err := os.Lstat(from); err != nil {
		return pathError("remove", from, err)
	} else if !info.IsDir() {
		return pathError("remove", from, errFolder)
	}
	t.closeRoot()
	if err := os.Rename(from, filepath.Join(t.dir, swapFolder)); err != nil {
		return errors.Join(pathError("remove", from, err), t.openRoot())
	}
	_ = os.Remove(t.Path()) // empty
	return t.rename(swapFolder)
}

// Back moves the tree to a path, as [Tree.Place] does. It is for a folder that a tree was
// exchanged with, and that is not to be removed after all. If the path is on another file
// system, the tree's files are copied; a tree with anything but folders and regular files stays
// where it is then.
func (t *Tree) Back(to string) error {
	err := t.Place(to)
	if err == nil || errors.Is(err, ErrExists) {
		return err
	}
	c, failed := NewTree(filepath.Dir(to))
	if failed != nil {
		return failed
	}
	defer c.Remove()
	if failed := c.copyFrom(t); failed != nil {
		return errors.Join(err, failed)
	}
	if failed := c.Sync(); failed != nil {
		return failed
	}
	if failed := c.Place(to); failed != nil {
		return failed
	}
	return t.Remove()
}

// Move moves a folder to a path that does not exist, on the same file system, and makes the
// folders above it.
func Move(from, to string) error {
	writing.RLock()
	defer writing.RUnlock()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return pathError("make the folder of", to, err)
	}
	if err := moveNew(from, to); err != nil {
		return pathError("move to", to, err)
	}
	return nil
}

// copyFrom makes the files and folders of another tree.
func (t *Tree) copyFrom(other *Tree) error {
	return fs.WalkDir(other.root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		if d.IsDir() {
			return t.root.MkdirAll(filepath.FromSlash(path), 0o777)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return pathError("copy", path, ErrIrregular)
		}
		f, err := other.root.Open(filepath.FromSlash(path))
		if err != nil {
			return err
		}
		defer f.Close()
		_, _, err = t.File(path, info.Mode().Perm()&0o111 != 0, f, info.Size()+1<<40)
		return err
	})
}
