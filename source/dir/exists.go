package dir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir/internal/realpath"
)

// maxMatches bounds how many folders [Source.Folders] looks into. Names that are
// equal but for case are few.
const maxMatches = 16

// HasFolder reports whether the root has a direct child folder with exactly this name.
// It counts a linked folder if links are followed.
func (s *Source) HasFolder(name string) bool {
	return len(s.Folders(func(n string) bool { return n == name })) > 0
}

// Folders describes the root's direct child folders whose names match, at most 16. It
// includes linked folders if links are followed. It compares with the root's entries,
// so that a case-insensitive file system answers like the others. No requested name
// becomes part of a path that does not exist.
func (s *Source) Folders(match func(name string) bool) []skill.Folder {
	dir := s.opt.Root.Dir
	top, err := s.door.folder(dir, false)
	if err != nil {
		return nil
	}
	defer top.close()
	var out []skill.Folder
	for _, c := range s.children(top) {
		if match(c.name) {
			if f, ok := s.describe(top, c); ok {
				out = append(out, f)
			}
		}
		if len(out) == maxMatches {
			break
		}
	}
	return out
}

// lastList is what a root's folder held when [Source.Folders] last listed it. A missing
// name is often asked for again, or another one is. Listing 60,000 folders costs 20 ms
// of processor time.
type lastList struct {
	stamp    skill.Stamp
	at       time.Time
	children []child
}

// children returns the entries of the root's folder that a scan uses, or nil if it
// cannot be listed. The last list is reused while the folder's stamp proves it.
func (s *Source) children(top handle) []child {
	begun := s.now()
	stamp, proves := stampOf(top)
	s.mu.Lock()
	last := s.listed
	s.mu.Unlock()
	if proves && last != nil && last.stamp == stamp && begun.Sub(last.at) < trusted {
		return last.children
	}
	within, entries, err := top.list(".")
	if within != nil {
		defer within.close()
	}
	if err != nil {
		return nil
	}
	var children []child
	for _, e := range entries {
		if c := childOf(e); !c.dull() {
			children = append(children, c)
		}
	}
	if proves && !stamp.Racy(begun) {
		s.mu.Lock()
		s.listed = &lastList{stamp, begun, slices.Clip(children)}
		s.mu.Unlock()
	}
	return children
}

// stampOf returns the stamp of a folder, and whether it changes with the folder's
// entries.
func stampOf(top handle) (stamp skill.Stamp, proves bool) {
	h, ok := top.(statHandle)
	if !ok || !h.keepsTimes() {
		return stamp, false
	}
	stamp, err := h.stamp(".")
	return stamp, err == nil
}

// describe looks into a direct child of the root. ok is false if the child is not a
// folder.
func (s *Source) describe(top handle, c child) (f skill.Folder, ok bool) {
	f.Name = c.name
	var h handle
	var err error
	switch {
	case c.folder:
		h, err = top.enter(f.Name)
	case !c.link || s.opt.Links == LinksNever:
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
	return err == nil && realpath.Within(real, target)
}
