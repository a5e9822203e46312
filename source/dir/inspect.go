package dir

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Hidden counts the dot-entries of a skill's folder, which are never listed, read or
// hashed. A file counts as one, and so does a folder with everything in it. Hidden
// returns the paths of at most limit of them, sorted. It follows no link.
func (f *folder) Hidden(ctx context.Context, limit int) (paths []string, count int, err error) {
	err = f.with("readdir", ".", func(h handle) error {
		paths, count = nil, 0
		return hidden(ctx, h, ".", func(p string) {
			if count++; len(paths) < limit {
				paths = append(paths, p)
			}
		})
	})
	slices.Sort(paths)
	return paths, count, err
}

func hidden(ctx context.Context, h handle, at string, note func(path string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, entries, err := h.list(at)
	if d != nil {
		d.close()
	}
	if err != nil && at != "." {
		return nil // the hidden entries of an unreadable folder are not counted
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		p := path.Join(at, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), "."):
			note(p)
		case e.IsDir() && strings.Count(p, "/") < skill.MaxDepth:
			if err := hidden(ctx, h, p, note); err != nil {
				return err
			}
		}
	}
	return nil
}

// Names lists at most limit names in the root's direct child folder of exactly this
// name, sorted and without dot-entries. ok is false if [Source.HasFolder] would be. Use
// it to tell an author which file is in the place of SKILL.md.
func (s *Source) Names(name string, limit int) (names []string, ok bool) {
	if !s.HasFolder(name) {
		return nil, false
	}
	h, err := s.door.folder(filepath.Join(s.opt.Root.Dir, name), false)
	if err != nil {
		return nil, !errors.Is(err, fs.ErrNotExist)
	}
	defer h.close()
	listed, entries, err := h.list(".")
	if listed != nil {
		defer listed.close()
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
