package edit

import (
	"errors"
	"io/fs"
	"os"
)

// errReal is returned for a link or a file where a folder that knack makes is expected.
var errReal = errors.New("it is a link or a file in the place of a folder; remove it")

// realFolder opens an existing folder. It refuses a link in its place, which a clone could bring.
// Work through the root stays in that folder, even if a link takes its place later. If another
// process removes the folder meanwhile, the error is [fs.ErrNotExist].
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
// missing, and refuses a link. It retries if another process's [Sweep] has removed the folder, or
// the files that do made in it.
func inFolder(path string, do func(*os.Root) error) (err error) {
	for range 100 { // other processes may be as busy as this one
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
