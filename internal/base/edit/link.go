package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// ErrNoLinks is returned if the system, the file system or the user's rights do not allow links.
var ErrNoLinks = errors.New("links cannot be made there")

// Link makes a relative link at path that leads to the folder target, and the folders above path.
// If path exists, the error is [ErrExists].
func Link(path, target string) error {
	writing.RLock()
	defer writing.RUnlock()
	text, err := filepath.Rel(filepath.Dir(path), target)
	if err != nil {
		return pathError("link", path, ErrNoLinks) // target is on another volume of Windows
	}
	in, err := makeFolder(filepath.Dir(path), 0o777)
	if err != nil {
		return pathError("make the folder of", path, err)
	}
	defer in.Close()
	err = symlink(in, text, filepath.Base(path))
	switch {
	case errors.Is(err, fs.ErrExist):
		err = ErrExists
	case lacksLinks(err):
		err = ErrNoLinks
	}
	if err != nil {
		return pathError("link", path, err)
	}
	syncFolder(in)
	return nil
}

// symlink is [os.Root.Symlink]. Tests replace it.
var symlink = (*os.Root).Symlink

// lacksLinks reports whether making a link failed because the system has no links or the user may
// not make any. Windows returns 1314 (ERROR_PRIVILEGE_NOT_HELD) to a user without that right.
func lacksLinks(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.Errno(1314))
}

// Unlink removes the link at path if its target is still text. Otherwise the error is [ErrChanged].
func Unlink(path, text string) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(path, func(in *os.Root, name string) error {
		now, err := in.Readlink(name)
		if err != nil || now != text {
			return pathError("remove", path, ErrChanged)
		}
		if err := in.Remove(name); err != nil {
			return pathError("remove", path, err)
		}
		syncFolder(in)
		return nil
	})
}
