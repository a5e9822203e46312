package dir

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// Tree is an open folder with everything in it, including dot-entries and links. It lists the
// contents of a folder before its files are copied or replaced. It follows no link below the
// folder.
type Tree struct{ h handle }

// TreeEntry is an entry of a [Tree].
type TreeEntry struct {
	Path  string      // slash-separated below the folder, as the disk spells it
	Mode  fs.FileMode // the type; and, except for folders, the permissions
	Stamp skill.Stamp // except for folders
}

// OpenTree opens the folder dir. If follow is set, the user named dir, and OpenTree follows links
// in its path. Otherwise no part of the path may be a link. The caller closes the tree.
func OpenTree(dir string, follow bool) (*Tree, error) {
	if follow {
		real, err := realRoot(dir)
		if err != nil {
			return nil, bare(err)
		}
		dir = real
	}
	h, err := pickOpener().folder(dir, true)
	switch {
	case errors.Is(err, errThroughLink):
		return nil, skill.ErrOutside
	case err != nil:
		return nil, bare(err)
	}
	return &Tree{h}, nil
}

// Close closes the folder.
func (t *Tree) Close() error {
	t.h.close()
	return nil
}

// Walk calls visit for every entry below the folder. A folder comes before its contents, and the
// entries of a folder are in name order. Walk skips a folder for which visit returns [fs.SkipDir],
// and ends with any other error.
func (t *Tree) Walk(ctx context.Context, visit func(TreeEntry) error) error {
	return t.walk(ctx, ".", visit)
}

func (t *Tree) walk(ctx context.Context, at string, visit func(TreeEntry) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, entries, err := t.h.list(at, -1)
	if d != nil {
		d.close()
	}
	if err != nil {
		return &fs.PathError{Op: "list", Path: at, Err: bare(err)}
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	for _, e := range entries {
		entry := TreeEntry{Path: path.Join(at, e.Name()), Mode: e.Type()}
		if !e.IsDir() {
			in, err := t.h.lstat(entry.Path)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the folder is gone
			}
			if err != nil {
				return &fs.PathError{Op: "look at", Path: entry.Path, Err: bare(err)}
			}
			entry.Mode, entry.Stamp = in.mode, in.stamp
			if realpath.IsLink(in.mode) {
				entry.Mode |= fs.ModeSymlink
			}
		}
		err := visit(entry)
		if err == nil && e.IsDir() {
			err = t.walk(ctx, entry.Path, visit)
		}
		if err != nil && !errors.Is(err, fs.SkipDir) {
			return err
		}
	}
	return nil
}

// Open opens a regular file of the folder. It never follows a link and never blocks. If the file
// has not changed since Walk listed it, its Stat has the stamp of its [TreeEntry].
func (t *Tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	f, err := t.h.open(name)
	switch {
	case errors.Is(err, errThroughLink):
		err = skill.ErrUnstable // it was a file when it was listed
	case err == nil:
		return f, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
}

// Unchanged reports whether a file or link is unchanged since it was listed.
func (t *Tree) Unchanged(e TreeEntry) bool {
	in, err := t.h.lstat(e.Path)
	return err == nil && in.stamp == e.Stamp
}

// Readlink returns the target of a link, as written.
func (t *Tree) Readlink(name string) (string, error) {
	to, err := t.h.readlink(name)
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: bare(err)}
	}
	return to, nil
}
