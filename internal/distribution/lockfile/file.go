// Package lockfile reads and writes knack.lock, the record of the installed skills. The lock has
// the source of each skill, and the digest of each of its files.
package lockfile

import (
	"crypto/sha256"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/skill"
)

// File is a file of a skill. Path is relative to the skill's folder, slash-separated, and spelt as
// on the disk.
type File struct {
	Path   string
	Size   int64
	Digest skill.Digest
	Exec   bool // it is executable
}

// Sort orders files by path, in byte order.
func Sort(files []File) {
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Extent returns the number of files and folders of a skill with these files, and their bytes. It
// counts the skill's own folder.
func Extent(files []File) edit.Extent {
	folders := map[string]bool{".": true}
	all := edit.Extent{Entries: len(files)}
	for _, f := range files {
		all.Bytes += f.Size
		for at := path.Dir(f.Path); !folders[at]; at = path.Dir(at) {
			folders[at] = true
		}
	}
	all.Entries += len(folders)
	return all
}

// Digest returns the digest of a skill with these files: the SHA-256 over one line per file,
// "DIGEST SIZE PATH\n", by path in byte order. It does not cover the executable bit, which some
// systems do not have.
func Digest(files []File) skill.Digest {
	files = slices.Clone(files)
	Sort(files)
	h := sha256.New()
	var line []byte
	for _, f := range files {
		line = append(line[:0], f.Digest.String()...)
		line = append(line, ' ')
		line = strconv.AppendInt(line, f.Size, 10)
		line = append(line, ' ')
		line = append(line, f.Path...)
		line = append(line, '\n')
		h.Write(line)
	}
	return skill.Digest(h.Sum(nil))
}
