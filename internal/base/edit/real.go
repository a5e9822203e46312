package edit

import (
	"errors"
	"io/fs"
	"os"
)

// errReal is returned for a link or a file at a path where knack makes a folder.
var errReal = errors.New("it is a link or a file in the place of a folder; remove it")

// realFolder opens an existing folder. It refuses a link, which a clone could contain. Work through
// the root stays in the folder, even if a link replaces it later. If another process removes the
// folder meanwhile, the error is [fs.ErrNotExist].
func realFolder(path string) (*os.Root, error) {
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	if !seen.IsDir() {
		return nil, pathError("open", path, errReal)
	}
	return openFolder(path)
}

// inFolder calls do with the folder at path. It makes the folder and its parents if they are
// missing, and refuses a link. It tries again if another process's [Sweep] has removed the folder,
// or the files that do made there.
func inFolder(path string, do func(*os.Root) error) (err error) {
	for range 100 { // allows for many busy processes
		var root *os.Root
		if root, err = realFolder(path); errors.Is(err, fs.ErrNotExist) {
			root, err = makeFolder(path, 0o755)
		}
		if err == nil {
			err = do(root)
			root.Close()
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrLocked) {
			return err
		}
	}
	return err
}
