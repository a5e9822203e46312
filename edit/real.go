package edit

import (
	"errors"
	"os"
)

// errReal is returned for a link or a file in the place of a folder that knack makes itself.
var errReal = errors.New("it is a link or a file in the place of a folder; remove it")

// realFolder opens an existing folder, and nothing that a link leads to: a clone can have a
// link in its place. What is done with the root stays in that folder, even if a link takes its
// place later.
func realFolder(path string) (*os.Root, error) {
	seen, err := os.Lstat(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	if !seen.IsDir() {
		return nil, pathError("open", path, errReal)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, pathError("open", path, err)
	}
	if opened, err := root.Stat("."); err != nil || !os.SameFile(seen, opened) {
		root.Close()
		return nil, pathError("open", path, errReal)
	}
	return root, nil
}

// makeFolder is [realFolder], and makes the folder and those above it if they are missing.
func makeFolder(path string) (*os.Root, error) {
	failed := os.MkdirAll(path, 0o755)
	root, err := realFolder(path)
	if err != nil && failed != nil && !errors.Is(err, errReal) {
		return nil, pathError("make the folder", path, failed)
	}
	return root, err
}
