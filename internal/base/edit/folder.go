package edit

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// ErrLink is returned for a path whose folder is reached through a link. The caller has already
// resolved the links with [Within] or [Named]. So another process made this link later.
var ErrLink = errors.New("a link is in its path; run the command again, or name the folder that the link leads to")

// Named resolves the links in the path of a file or folder that the user named. It does not resolve
// the last element, so the functions of this package can still refuse a link there.
func Named(path string) string {
	return filepath.Join(realpath.Of(filepath.Dir(path)), filepath.Base(path))
}

// openFolder opens the folder at path, no part of which may be a link. Later work through the root
// stays in that folder, even if the folder moves or a link replaces it.
func openFolder(path string) (*os.Root, error) {
	err := error(nil)
	for range 10 { // until no process replaces the folder during the check
		var seen fs.FileInfo
		if seen, err = statPlain(path); err != nil {
			break
		}
		var root *os.Root
		// The "." at the end keeps the call from blocking if a pipe replaces the folder: a pipe has
		// no entries.
		if root, err = os.OpenRoot(path + string(filepath.Separator) + "."); err != nil {
			break
		}
		opened, failed := root.Stat(".")
		if failed == nil && os.SameFile(seen, opened) {
			return root, nil
		}
		root.Close()
		err = ErrLink
	}
	return nil, pathError("open", path, err)
}

// statParts is statPlain for systems without a single call for the whole path. It checks the parts
// of the path one by one. It misses a link that another process makes and removes meanwhile.
func statParts(path string) (fs.FileInfo, error) {
	seen, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case len(realpath.Links(path)) > 0:
		return nil, ErrLink
	case !seen.IsDir():
		return nil, errReal
	}
	now, err := os.Lstat(path)
	if err == nil && !os.SameFile(seen, now) {
		err = ErrLink
	}
	return now, err
}

// openIn opens the subfolder name of the folder in, without following links.
func openIn(in *os.Root, name string) (*os.Root, error) {
	path := filepath.Join(in.Name(), name)
	seen, err := in.Lstat(name)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	if !seen.IsDir() {
		return nil, pathError("open", path, errReal)
	}
	root, err := in.OpenRoot(name)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(seen, opened) {
		root.Close()
		return nil, pathError("open", path, fs.ErrNotExist) // the folder is gone
	}
	return root, nil
}

// makeFolder opens a folder as openFolder does. It makes the folder and its parents if they are
// missing.
func makeFolder(path string, mode fs.FileMode) (*os.Root, error) {
	root, err := openFolder(path)
	if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(path) == path {
		return root, err
	}
	above, err := makeFolder(filepath.Dir(path), mode)
	if err != nil {
		return nil, err
	}
	defer above.Close()
	name := filepath.Base(path)
	if err := above.Mkdir(name, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, pathError("make the folder", path, err)
	}
	return openIn(above, name)
}

// MakeFolder makes a folder and its parents if they are missing.
func MakeFolder(path string, mode fs.FileMode) error {
	writing.RLock()
	defer writing.RUnlock()
	root, err := makeFolder(path, mode)
	if err != nil {
		return err
	}
	return root.Close()
}

// inFolderOf opens the folder that contains path, and calls do with it and the last element of
// path.
func inFolderOf(path string, do func(in *os.Root, name string) error) error {
	in, err := openFolder(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer in.Close()
	return do(in, filepath.Base(path))
}

// Touch sets the access and modification times of a file or folder.
func Touch(path string, at time.Time) error {
	return inFolderOf(path, func(in *os.Root, name string) error { return in.Chtimes(name, at, at) })
}
