package quarantine

import (
	"cmp"
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// folder is the folder of a skill, in which only judged files can be opened. In a held-back skill
// nothing can be opened or listed.
type folder struct {
	inner   fs.FS
	bundle  *skill.Bundle // as the source found it
	now     func() *verdict
	differs func() // called if a file differs from the judged one
}

// held returns the error for a file that differs from the judged one.
func (f *folder) held(op, name string) error {
	f.differs()
	return &fs.PathError{Op: op, Path: name, Err: pending("")}
}

// Open implements [fs.FS].
func (f *folder) Open(name string) (fs.File, error) {
	v := f.now()
	if v.fault != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: v.fault}
	}
	file, err := f.inner.Open(name)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		return struct{ fs.File }{file}, nil // its contents are listed by ReadDir
	}
	at := f.served(name)
	want, judged := v.file(at)
	if at == "" && err == nil {
		err = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist} // served by no surface, and not judged
	}
	if err == nil && (!judged || info.Size() != want.Size) {
		err = f.held("open", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return skill.Verified(file, want.Size, want.Digest, func() error { return f.held("read", name) }), nil
}

// file finds a file by its served path.
func (v *verdict) file(path string) (skill.File, bool) {
	i, ok := slices.BinarySearchFunc(v.files, path, func(f skill.File, path string) int { return cmp.Compare(f.Path, path) })
	if !ok {
		return skill.File{}, false
	}
	return v.files[i], true
}

// Stat implements [fs.StatFS].
func (f *folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(f.inner, name) }

// ReadDir implements [fs.ReadDirFS]. It leaves out files that were not judged, since names are text
// too.
func (f *folder) ReadDir(name string) ([]fs.DirEntry, error) {
	v := f.now()
	if v.fault != nil {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: v.fault}
	}
	entries, err := fs.ReadDir(f.inner, name)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		at := path.Join(name, e.Name())
		listed := v.lists(f.bundle, at)
		if !listed && e.Type().IsRegular() && f.served(at) != "" {
			f.differs()
		}
		return !listed
	})
	return entries, err
}

// served returns the path under which a file is served, or "".
func (f *folder) served(name string) string { return (&skill.Skill{Bundle: f.bundle}).ServedPath(name) }

// lists reports whether a name belongs to a judged file, or to a folder that contains one.
func (v *verdict) lists(b *skill.Bundle, name string) bool {
	if _, ok := v.file((&skill.Skill{Bundle: b}).ServedPath(name)); ok {
		return true
	}
	i, _ := slices.BinarySearchFunc(v.files, name+"/", func(f skill.File, path string) int { return cmp.Compare(f.Path, path) })
	return i < len(v.files) && strings.HasPrefix(v.files[i].Path, name+"/")
}

// Whole lists the files in one pass, with their digests. If they differ from the judged files, it
// reports false, and hashing them one by one fails.
func (f *folder) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	by, can := f.inner.(interface {
		Whole(ctx context.Context, known []skill.File) ([]skill.File, bool)
	})
	v := f.now()
	if !can || v.fault != nil {
		return nil, false
	}
	files, ok = by.Whole(ctx, known)
	if ok && !slices.EqualFunc(files, v.files, func(a, b skill.File) bool { return a.Path == b.Path && a.Size == b.Size && a.Digest == b.Digest }) {
		f.differs()
		return nil, false
	}
	return files, ok
}

// Hidden lists the files that no surface serves.
func (f *folder) Hidden(ctx context.Context, limit int) (paths []string, count int, err error) {
	if by, can := f.inner.(interface {
		Hidden(ctx context.Context, limit int) ([]string, int, error)
	}); can {
		return by.Hidden(ctx, limit)
	}
	return nil, 0, nil
}
