package skill

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"strconv"
)

// SetOf returns one digest for all files of a skill. It hashes the lines "path NUL digest NUL size
// LF", sorted by path. The files must have their digests. An approval applies to such a digest.
func SetOf(files []File) Digest {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	h := sha256.New()
	var line []byte
	for _, f := range files {
		line = append(append(line[:0], f.Path...), 0)
		line = append(append(line, f.Digest.String()...), 0)
		line = append(strconv.AppendInt(line, f.Size, 10), '\n')
		h.Write(line)
	}
	return Digest(h.Sum(nil))
}
