package dir

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/knack-dev/knack/skill"
)

// maxMatches bounds how many folders [Source.Folders] looks into. Names that are
// equal but for case are few.
const maxMatches = 16

// HasFolder reports whether the root has a folder with exactly this name as a
// direct child, a linked one included where links are followed.
func (s *Source) HasFolder(name string) bool {
	return len(s.Folders(func(n string) bool { return n == name })) > 0
}

// Folders describes the folders that are direct children of the root and whose
// names match, linked ones included where links are followed; 16 at most. It
// compares with the root's entries, so that a file system that does not tell case
// apart answers like the others, and nothing asked for becomes part of a path
// that is not there.
func (s *Source) Folders(match func(name string) bool) []skill.Folder {
	dir := s.opt.Root.Dir
	top, err := s.door.folder(dir, false)
	if err != nil {
		return nil
	}
	defer top.close()
	listed, entries, err := top.list(".")
	if listed != nil {
		defer listed.close()
	}
	if err != nil {
		return nil
	}
	var out []skill.Folder
	for _, e := range entries {
		if len(out) < maxMatches && !childOf(e).dull() && match(e.Name()) {
			if f, ok := s.describe(top, e); ok {
				out = append(out, f)
			}
		}
	}
	return out
}

// describe looks into a direct child of the root; ok is false where that is no
// folder.
func (s *Source) describe(top handle, e fs.DirEntry) (f skill.Folder, ok bool) {
	f.Name = e.Name()
	var h handle
	var err error
	switch {
	case e.IsDir():
		h, err = top.enter(f.Name)
	case e.Type()&fs.ModeSymlink == 0 || s.opt.Links == LinksNever:
		return f, false
	case s.opt.Links == LinksInside && !s.linksInside(f.Name):
		return f, false
	default:
		h, err = s.door.folder(filepath.Join(s.opt.Root.Dir, f.Name), false)
	}
	if err != nil {
		f.Err = bare(err)
		return f, errors.Is(err, fs.ErrPermission)
	}
	defer h.close()
	for _, name := range skill.EntryNames {
		in, err := h.lstat(name)
		switch {
		case err == nil:
			f.Main, f.Stamp = true, in.Stamp()
			return f, true
		case !errors.Is(err, fs.ErrNotExist):
			f.Err = bare(err)
		}
	}
	return f, true
}

// linksInside reports whether a link in the root leads to a folder below it.
func (s *Source) linksInside(name string) bool {
	real, err := realRoot(s.opt.Root.Dir)
	if err != nil {
		return false
	}
	target, err := resolve(filepath.Join(real, name))
	return err == nil && within(real, target)
}
