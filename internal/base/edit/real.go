package edit

import (
	"errors"
	"io/fs"
	"os"
)

// errReal is returned for a link or a file in the place of a folder that knack makes itself.
var errReal = errors.New("it is a link or a file in the place of a folder; remove it")

// realFolder opens an existing folder. It refuses a link in its place: a clone can have such a
// link. Work on the root stays in that folder, even if a link takes its
// place later. If another process removes the folder meanwhile, the error is [fs.ErrNotExist].
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

// inFolder calls do with the folder at path. It makes the folder and those above it if they are
// missing, and refuses a link. It tries again when a [Sweep] of another process has removed the
// folder, or the files that do made in it.
func inFolder(path string, do func(*os.Root) error) (err error) {
	for range 100 { // others may be as busy as this process
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
