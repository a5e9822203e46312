package dir

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// ReadDir lists a directory in name order, without dot-entries. For completeness, it also lists an
// entry whose name cannot be opened (a backslash, bytes that are not UTF-8). A link appears as its
// target within the folder. A link that leads nowhere or out of the folder is left out. For a
// folder of more than [skill.MaxFolder] names, ReadDir returns an error.
//
// Links to directories are listed only if the directory itself was reached without a link and is
// not below the link's target. Otherwise, two links to "." would give a plain walk 2^40 paths. All
// of these can still be opened by name.
func (f *folder) ReadDir(name string) ([]fs.DirEntry, error) {
	var out []fs.DirEntry
	err := f.with("readdir", name, func(h handle) error {
		real, in, err := locate(h, name, f)
		if err != nil {
			return err
		}
		if !in.IsDir() {
			return errNotDirectory
		}
		d, entries, err := h.list(real, skill.MaxFolder)
		if d != nil {
			d.close()
		}
		if err != nil {
			return err
		}
		out, err = f.filtered(h, real, real != name, entries)
		return err
	})
	return out, err
}

// entriesOf reads the entries of an open folder; see [handle]. It stops when it has read more than
// most entries.
func entriesOf(d *os.File, most int) ([]fs.DirEntry, error) {
	entries, err := d.ReadDir(most + 1)
	switch {
	case err == io.EOF:
		err = nil // the folder is empty
	case most >= 0 && len(entries) > most:
		err = skill.ErrTooLarge
	}
	return entries, err
}

var errNotDirectory = errors.New("not a directory")

// filtered filters the raw entries of the directory at dir. linked is set if the caller reached
// that directory through a link.
func (f *folder) filtered(h handle, dir string, linked bool, raw []fs.DirEntry) ([]fs.DirEntry, error) {
	h = &cachingHandle{handle: h}
	out := make([]fs.DirEntry, 0, len(raw))
	for _, e := range raw {
		at := path.Join(dir, e.Name())
		if bad := f.checkName(e.Name()); bad != nil && !errors.Is(bad, fs.ErrInvalid) {
			continue
		}
		if !realpath.IsLink(e.Type()) {
			out = append(out, entry{h: f, at: at, name: e.Name(), typ: e.Type()})
			continue
		}
		_, in, err := locate(h, at, f)
		switch {
		case errors.Is(err, errThroughLink):
			return nil, err
		case err != nil:
			continue
		case in.IsDir() && (linked || holds(h, dir, in)):
			continue
		}
		out = append(out, entry{h: f, at: at, name: e.Name(), typ: in.Mode().Type()})
	}
	slices.SortFunc(out, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return out, nil
}

// cachingHandle looks up each name once. Links of one directory often lead to each other. Without
// the cache, ten thousand of them would be looked up forty times each. A cached entry may become
// outdated, like a path that [locate] returns, so the cache serves a single listing.
type cachingHandle struct {
	handle
	stats   map[string]statted
	targets map[string]linked
}

type statted struct {
	info *info
	err  error
}

type linked struct {
	target string
	err    error
}

func (r *cachingHandle) lstat(name string) (*info, error) {
	s, ok := r.stats[name]
	if !ok {
		if r.stats == nil {
			r.stats = map[string]statted{}
		}
		s.info, s.err = r.handle.lstat(name)
		r.stats[name] = s
	}
	return s.info, s.err
}

func (r *cachingHandle) readlink(name string) (string, error) {
	l, ok := r.targets[name]
	if !ok {
		if r.targets == nil {
			r.targets = map[string]linked{}
		}
		l.target, l.err = r.handle.readlink(name)
		r.targets[name] = l
	}
	return l.target, l.err
}

// pathsOf lists "." and every prefix of name.
func pathsOf(name string) []string {
	out := []string{name}
	for name != "." {
		name = path.Dir(name)
		out = append(out, name)
	}
	slices.Reverse(out)
	return out
}

// holds reports whether target is dir or one of the directories that contain dir.
func holds(h handle, dir string, target *info) bool {
	for _, p := range pathsOf(dir) {
		if in, err := h.lstat(p); err != nil || in.same(target) {
			return true
		}
	}
	return false
}

// entry is a directory entry. It gets its info through the open folder, never by a path.
type entry struct {
	h    *folder
	at   string
	name string
	typ  fs.FileMode
}

func (e entry) Name() string               { return e.name }
func (e entry) IsDir() bool                { return e.typ.IsDir() }
func (e entry) Type() fs.FileMode          { return e.typ }
func (e entry) Info() (fs.FileInfo, error) { return e.h.Stat(e.at) }
func (e entry) String() string             { return fs.FormatDirEntry(e) }

// dirFile is an opened directory. It holds no descriptor; its entries are read on first
// use.
type dirFile struct {
	folder  *folder
	path    string
	info    *info
	entries []fs.DirEntry
	read    bool
}

func (d *dirFile) Stat() (fs.FileInfo, error) { return d.info, nil }
func (d *dirFile) Close() error               { return nil }

func (d *dirFile) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.path, Err: errors.New("is a directory")}
}

func (d *dirFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if !d.read {
		all, err := d.folder.ReadDir(d.path)
		if err != nil {
			return nil, err
		}
		d.entries, d.read = all, true
	}
	if n <= 0 || n > len(d.entries) {
		if n > 0 && len(d.entries) == 0 {
			return nil, io.EOF
		}
		n = len(d.entries)
	}
	out := d.entries[:n:n]
	d.entries = d.entries[n:]
	return out, nil
}

// Hidden returns the dot-entries of a skill's folder, which are never listed, read or hashed. A
// folder counts once, with everything in it. Hidden returns the paths of at most limit entries,
// sorted. It follows no link.
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

// Beside reports whether there is a file or folder called name beside the skill's folder. It
// returns false for a name that is not valid for a skill.
func (f *folder) Beside(name string) bool {
	if !skill.ValidName(name) {
		return false
	}
	_, err := os.Lstat(filepath.Join(filepath.Dir(filepath.Join(f.base, filepath.FromSlash(f.sub))), name))
	return err == nil
}

func hidden(ctx context.Context, h handle, at string, note func(path string)) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d, entries, err := h.list(at, skill.MaxFolder)
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
