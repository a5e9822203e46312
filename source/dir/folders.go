package dir

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/skill"
)

// maxMatches bounds the number of folders that [Source.Folders] opens. Few names differ only in
// case.
const maxMatches = 16

// hasFolder reports whether the root has a direct child folder with exactly this name.
// It counts a linked folder if links are followed.
func (s *Source) hasFolder(name string) bool {
	return len(s.Folders(func(n string) bool { return n == name })) > 0
}

// Folders describes the root's direct child folders whose names match, at most 16. It includes
// linked folders if links are followed. It passes the names of the root's entries to match, so the
// result is the same on a case-insensitive file system. A requested name never becomes part of a
// path.
func (s *Source) Folders(match func(name string) bool) []skill.Folder {
	if s.opt.Places != nil {
		return nil // skills are further down
	}
	top, err := s.enter()
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

// Names lists at most limit names in the root's direct child folder with exactly this name, sorted
// and without dot-entries. ok is false if there is no such folder. A message to an author uses it
// to name the file that should be called SKILL.md.
func (s *Source) Names(name string, limit int) (names []string, ok bool) {
	if !s.hasFolder(name) {
		return nil, false
	}
	h, err := s.child(name)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist)
	}
	defer h.close()
	root, entries, err := h.list(".", -1)
	if root != nil {
		defer root.close()
	}
	if err != nil {
		return nil, true
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names[:min(len(names), limit)], true
}

// child opens a direct child folder of the root, which may be a link if links are followed.
func (s *Source) child(name string) (handle, error) {
	if !s.opt.NoLinks {
		return s.opener.folder(filepath.Join(s.opt.Root.Dir, name), false)
	}
	top, err := s.enter()
	if err != nil {
		return nil, err
	}
	defer top.close()
	return top.enter(name)
}

// folderList is the content of a root's folder when [Source.Folders] last listed it. It is cached
// because missing names are often requested again, and listing 60,000 folders costs 20 ms of
// processor time.
type folderList struct {
	stamp    skill.Stamp
	at       time.Time
	children []child
}

// children returns the entries of the root's folder that a scan needs, or nil if the folder cannot
// be listed. It reuses the last list as long as the folder's stamp proves that nothing has changed.
func (s *Source) children(top handle) []child {
	begun := s.now()
	stamp, proves := stampOf(top)
	s.mu.Lock()
	last := s.folders
	s.mu.Unlock()
	if proves && last != nil && last.stamp == stamp && begun.Sub(last.at) < trusted {
		return last.children
	}
	within, entries, err := top.list(".", -1)
	if within != nil {
		defer within.close()
	}
	if err != nil {
		return nil
	}
	var children []child
	for _, e := range entries {
		if c := childOf(e); !c.unused() {
			children = append(children, c)
		}
	}
	if proves && !stamp.Racy(begun) {
		s.mu.Lock()
		s.folders = &folderList{stamp, begun, slices.Clip(children)}
		s.mu.Unlock()
	}
	return children
}

// stampOf returns the stamp of a folder. proves reports whether the stamp changes with the folder's
// entries.
func stampOf(top handle) (stamp skill.Stamp, proves bool) {
	h, ok := top.(stampHandle)
	if !ok || !h.keepsTimes() {
		return stamp, false
	}
	stamp, err := h.stamp(".")
	return stamp, err == nil
}

// describe opens a direct child of the root. ok is false if the child is not a folder.
func (s *Source) describe(top handle, c child) (f skill.Folder, ok bool) {
	f.Name = c.name
	var h handle
	var err error
	switch {
	case c.folder:
		h, err = top.enter(f.Name)
	case !c.link || s.opt.NoLinks:
		return f, false
	default:
		h, err = s.child(f.Name)
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
