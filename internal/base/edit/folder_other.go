//go:build !(darwin || linux)

package edit

import "io/fs"

// statPlain describes the folder at path, and fails with [ErrLink] if any part of the path is a
// link.
func statPlain(path string) (fs.FileInfo, error) { return statParts(path) }
