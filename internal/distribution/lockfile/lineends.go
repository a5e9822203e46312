package lockfile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"path"

	"github.com/knack-dev/knack/skill"
)

// largestText is the maximum size of a file in which OnlyLineEnds looks for line ends.
const largestText = 16 << 20

// OnlyLineEnds reports whether the files now differ from the locked files only in line ends, as Git
// changes them with core.autocrlf. It calls open for each file with another digest. It stops at the
// first file that differs in more than line ends.
func OnlyLineEnds(locked, now []File, open func(path string) (io.ReadCloser, error)) bool {
	if len(locked) != len(now) {
		return false
	}
	was := make(map[string]skill.Digest, len(locked))
	for _, f := range locked {
		was[f.Path] = f.Digest
	}
	changed := false
	for _, f := range now {
		digest, has := was[f.Path]
		switch {
		case !has:
			return false
		case digest != f.Digest && !onlyLineEnds(digest, f, open):
			return false
		}
		changed = changed || digest != f.Digest
	}
	return changed
}

// LineEndsFix returns the fix that makes Git keep the line ends of a locked skill.
func LineEndsFix(key string) string {
	return fmt.Sprintf("put the line \"%s/** -text\" into .gitattributes beside %s", path.Dir(key), Name)
}

func onlyLineEnds(locked skill.Digest, f File, open func(path string) (io.ReadCloser, error)) bool {
	if f.Size > largestText {
		return false
	}
	r, err := open(f.Path)
	if err != nil {
		return false
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, f.Size))
	if err != nil {
		return false
	}
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	return sha256.Sum256(data) == locked || sha256.Sum256(bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))) == locked
}
