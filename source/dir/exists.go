package dir

import (
	"io/fs"
	"path/filepath"
)

// HasFolder reports whether the root has a folder with exactly this name as a
// direct child, a linked one included where links are followed. It compares with
// the root's entries, so that a file system that does not tell case apart
// answers like the others, and nothing asked for becomes part of a path that is
// not there.
func (s *Source) HasFolder(name string) bool {
	dir := s.opt.Root.Dir
	top, err := s.door.folder(dir, false)
	if err != nil {
		return false
	}
	defer top.close()
	listed, entries, err := top.list(".")
	if listed != nil {
		defer listed.close()
	}
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Name() != name {
			continue
		}
		switch {
		case e.IsDir():
			return true
		case e.Type()&fs.ModeSymlink == 0 || s.opt.Links == LinksNever:
			return false
		case s.opt.Links == LinksInside:
			_, in, err := locate(top, name)
			return err == nil && in.IsDir()
		}
		h, err := s.door.folder(filepath.Join(dir, name), false)
		if err != nil {
			return false
		}
		h.close()
		return true
	}
	return false
}
