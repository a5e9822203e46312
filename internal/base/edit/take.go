package edit

import (
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// Take moves an existing folder into the tree, which must be empty. The caller may then look at the
// folder, place it elsewhere, or remove it.
func (t *Tree) Take(from string) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(from, func(in *os.Root, name string) error {
		if info, err := in.Lstat(name); err != nil {
			return pathError("remove", from, err)
		} else if !info.IsDir() {
			return pathError("remove", from, errFolder)
		}
		t.closeRoot()
		if err := move(in, name, t.in, swapFolder); err != nil {
			return errors.Join(pathError("remove", from, err), t.openRoot())
		}
		err := t.rename(swapFolder)
		if err != nil { // a link has replaced the folder
			t.name = newFolder
			return errors.Join(pathError("remove", from, errFolder), moveChecked(t.in, swapFolder, in, name))
		}
		_ = t.in.Remove(newFolder) // the folder is empty
		return nil
	})
}

// Back moves the tree to a path, as [Tree.Place] does. It is for the old folder that the tree
// contains after [Tree.Exchange], if the old folder must be kept. If the path is on another file
// system, Back copies the tree. It copies only folders, regular files and links. If the tree
// contains anything else, the error is [ErrIrregular].
func (t *Tree) Back(to string) error {
	err := t.Place(to)
	if err == nil || errors.Is(err, ErrExists) || t.root == nil {
		return err
	}
	if err := copyTo(t.root, to); err != nil {
		return err
	}
	return t.Remove()
}

// Move moves a folder to a path that does not exist, and makes the folders above it. If the path is
// on another file system, Move copies the folder as [Tree.Back] does, and the caller removes the
// old one.
func Move(from, to string) error {
	err := rename(from, to)
	if err == nil || errors.Is(err, fs.ErrExist) || errors.Is(err, ErrLink) {
		return err
	}
	if info, failed := os.Lstat(from); failed != nil || !info.IsDir() {
		return err
	}
	root, err := openFolder(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return copyTo(root, to)
}

func rename(from, to string) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(from, func(in *os.Root, name string) error {
		above, err := makeFolder(filepath.Dir(to), 0o700)
		if err != nil {
			return pathError("make the folder of", to, err)
		}
		defer above.Close()
		if err := moveNew(in, name, above, filepath.Base(to)); err != nil {
			return pathError("move to", to, err)
		}
		return nil
	})
}

// copyTo copies a folder to a path that does not exist, completely or not at all.
func copyTo(root *os.Root, to string) error {
	t, err := NewTree(filepath.Dir(to))
	if err != nil {
		return err
	}
	defer t.Remove()
	if err := t.copyFrom(root); err != nil {
		return err
	}
	if err := t.Sync(); err != nil {
		return err
	}
	return t.Place(to)
}

// copyFrom copies the files, folders and links of another folder into the tree. It does not follow
// links.
func (t *Tree) copyFrom(other *os.Root) error {
	return fs.WalkDir(other.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == "." {
			return err
		}
		name := filepath.FromSlash(path)
		if d.IsDir() {
			return t.root.MkdirAll(name, 0o777)
		}
		if d.Type() == fs.ModeSymlink {
			target, err := other.Readlink(name)
			if err != nil {
				return err
			}
			return t.root.Symlink(target, name)
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return pathError("copy", path, ErrIrregular)
		}
		f, err := other.Open(name)
		if err != nil {
			return err
		}
		defer f.Close()
		_, _, err = t.File(path, info.Mode().Perm()&0o111 != 0, f, math.MaxInt64)
		return err
	})
}
