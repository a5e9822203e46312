package policy

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// folder is the file system of a guarded skill. Only judged files can be opened in it. In a
// held-back skill, no file can be opened.
type folder struct {
	inner    fs.FS
	bundle   *skill.Bundle // as the source found it
	deciders []*Decider
	last     func() *verdict
	differs  func() // called if a file differs from the judged one, or a ruling has changed
}

// verdict returns the verdict of the last scan. It replaces the rulings that deciders have changed
// since.
func (f *folder) verdict() *verdict {
	v := f.last()
	for i, d := range f.deciders {
		if d.Now == nil {
			continue
		}
		r, changed := d.Now(f.bundle, v.rulings[i])
		if !changed {
			continue
		}
		f.differs()
		v = &verdict{v.reason, slices.Clone(v.rulings)}
		if v.rulings[i] = r; v.reason == nil {
			v.reason = r.Held
		}
	}
	return v
}

// binds reports whether only some files can be read.
func (v *verdict) binds() bool {
	return v.reason != nil || slices.ContainsFunc(v.rulings, func(r Ruling) bool { return r.Differs != nil })
}

// hidden reports whether the skill is held back and even the names of its files are hidden.
func (v *verdict) hidden() bool {
	return v.reason != nil && slices.ContainsFunc(v.rulings, func(r Ruling) bool { return r.Hides })
}

// Place implements [skill.Placed].
func (f *folder) Place() string {
	if inner, ok := f.inner.(skill.Placed); ok && f.verdict().reason == nil {
		return inner.Place()
	}
	return ""
}

// Open implements [fs.FS].
func (f *folder) Open(name string) (fs.File, error) {
	v := f.verdict()
	if v.hidden() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: v.reason}
	}
	file, err := f.inner.Open(name)
	if err != nil && v.reason != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: v.reason}
	}
	if err != nil || !v.binds() {
		return file, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		return struct{ fs.File }{file}, nil // only ReadDir lists its contents
	}
	if err == nil {
		err = v.reason
	}
	var want skill.File
	var by Ruling
	for _, r := range v.rulings {
		if r.Differs == nil || err != nil {
			continue
		}
		own, judged := fileOf(r.Files, f.served(name))
		switch {
		case f.served(name) == "":
			err = fs.ErrNotExist // never served, so it was not judged
		case !judged, info.Size() != own.Size, by.Differs != nil && own.Digest != want.Digest:
			f.differs()
			err = r.Differs(name, !judged)
		case by.Differs == nil:
			want, by = own, r
		}
	}
	if err != nil {
		file.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return skill.Verified(file, want.Size, want.Digest, func() error {
		f.differs()
		return &fs.PathError{Op: "read", Path: name, Err: by.Differs(name, false)}
	}), nil
}

// fileOf finds a file by its served path.
func fileOf(files []skill.File, path string) (skill.File, bool) {
	i, ok := slices.BinarySearchFunc(files, path, func(f skill.File, path string) int { return cmp.Compare(f.Path, path) })
	if !ok {
		return skill.File{}, false
	}
	return files[i], true
}

// Stat implements [fs.StatFS].
func (f *folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.inner, name) }

// ReadDir implements [fs.ReadDirFS]. If a ruling hides names, the result lacks the files that were
// not judged, since a name can also contain harmful text.
func (f *folder) ReadDir(name string) ([]fs.DirEntry, error) {
	v := f.verdict()
	if v.hidden() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: v.reason}
	}
	entries, err := fs.ReadDir(f.inner, name)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		at := path.Join(name, e.Name())
		visible := f.lists(v, at)
		if !visible && e.Type().IsRegular() && f.served(at) != "" {
			f.differs()
		}
		return !visible
	})
	return entries, err
}

// served returns the path under which a file is served, or "".
func (f *folder) served(name string) string { return (&skill.Skill{Bundle: f.bundle}).ServedPath(name) }

// lists reports whether a name may be listed. Each ruling that hides names must have a file with
// this name, or a file in a folder with this name.
func (f *folder) lists(v *verdict, name string) bool {
	for _, r := range v.rulings {
		if !r.Hides {
			continue
		}
		if _, ok := fileOf(r.Files, f.served(name)); ok {
			continue
		}
		i, _ := slices.BinarySearchFunc(r.Files, name+"/", func(f skill.File, path string) int { return cmp.Compare(f.Path, path) })
		if i == len(r.Files) || !strings.HasPrefix(r.Files[i].Path, name+"/") {
			return false
		}
	}
	return true
}

// Whole lists the files in one pass, with their digests. If they differ from the judged files, it
// returns false. The caller then hashes the files one by one, and gets an error for the changed
// file.
func (f *folder) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	by, can := f.inner.(interface {
		Whole(ctx context.Context, known []skill.File) ([]skill.File, bool)
	})
	v := f.verdict()
	if !can || v.reason != nil {
		return nil, false
	}
	files, ok = by.Whole(ctx, known)
	for _, r := range v.rulings {
		if ok && r.Differs != nil && !slices.EqualFunc(files, r.Files, func(a, b skill.File) bool { return a.Path == b.Path && a.Size == b.Size && a.Digest == b.Digest }) {
			f.differs()
			return nil, false
		}
	}
	return files, ok
}

// Beside reports whether there is a file or folder of this name beside the skill's folder.
func (f *folder) Beside(name string) bool {
	by, can := f.inner.(interface{ Beside(name string) bool })
	return can && by.Beside(name)
}

// Hidden lists the files that are never served.
func (f *folder) Hidden(ctx context.Context, limit int) (paths []string, count int, err error) {
	if by, can := f.inner.(interface {
		Hidden(ctx context.Context, limit int) ([]string, int, error)
	}); can {
		return by.Hidden(ctx, limit)
	}
	return nil, 0, nil
}
