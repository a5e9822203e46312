package release

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// folder is the folder of one skill as a file system. A read to the end of a file fails unless the
// bytes have the file's digest.
type folder struct {
	source       *Source
	path         string // of the skill within the release
	digest, main skill.Digest
	entry, fault string
}

// inner returns the folder on the disk, whose files are not verified.
func (f *folder) inner() (fs.FS, error) {
	shelf, err := f.source.open()
	if err != nil {
		return nil, err
	}
	return shelf.FS(f.source.below(f.digest)), nil
}

// damaged records that the skill is damaged, and returns the error for name.
func (f *folder) damaged(op, name string) error {
	f.source.damage(f.digest, f.path)
	return &fs.PathError{Op: op, Path: name, Err: errDamaged}
}

// broken reports whether an error of the disk proves that the skill is damaged. The store wrote all
// files of the skill as regular files, and never removed one.
func broken(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, skill.ErrNotRegular) || errors.Is(err, skill.ErrOutside) || errors.Is(err, skill.ErrNotFolder)
}

// files returns the files of the skill, after they have matched the skill's digest at least once.
func (f *folder) files(op, name string) ([]lockfile.File, error) {
	files, err := f.source.manuals.files(f.digest, f.source.o.Store)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.damaged(op, name)
	}
	return files, err
}

// wants returns the digest that a file must have, and its size, or -1 if the size is unknown. has
// is false if the skill has no such file.
func (f *folder) wants(name string) (want lockfile.File, has bool, err error) {
	if name == f.entry && f.main != (skill.Digest{}) {
		return lockfile.File{Path: name, Digest: f.main, Size: -1}, true, nil
	}
	files, err := f.files("open", name)
	if err != nil {
		return want, false, err
	}
	i := slices.IndexFunc(files, func(k lockfile.File) bool { return k.Path == name })
	if i < 0 {
		return want, false, nil
	}
	return files[i], true, nil
}

// Place implements [skill.Placed]. It returns the folder only after the files were compared with
// their digests, since an agent may run them from there.
func (f *folder) Place() string {
	if f.fault != "" {
		return ""
	}
	if _, err := f.files("open", "."); err != nil {
		return ""
	}
	return f.source.o.Store.Folder(f.digest)
}

// Open implements [fs.FS].
func (f *folder) Open(name string) (fs.File, error) {
	if f.fault != "" {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	inner, err := f.inner()
	if err != nil {
		return nil, err
	}
	want, has, err := f.wants(name)
	if err != nil {
		return nil, err
	}
	file, err := inner.Open(name)
	if err != nil {
		if has && broken(err) {
			err = f.damaged("open", name)
		}
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case info.IsDir() && !has:
		return &folderFile{file, f, name}, nil
	case !has, info.IsDir(), want.Size >= 0 && info.Size() != want.Size:
		err = f.damaged("open", name)
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return skill.Verified(file, info.Size(), want.Digest, func() error { return f.damaged("read", name) }), nil
}

// Stat implements [fs.StatFS].
func (f *folder) Stat(name string) (fs.FileInfo, error) {
	if f.fault != "" {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	inner, err := f.inner()
	if err != nil {
		return nil, err
	}
	info, err := fs.Stat(inner, name)
	if err != nil && broken(err) && (name == "." || name == f.entry) {
		return nil, f.damaged("stat", name)
	}
	return info, err
}

// ReadDir implements [fs.ReadDirFS]. It compares the names with the skill's files, since a missing
// file must be an error.
func (f *folder) ReadDir(name string) ([]fs.DirEntry, error) {
	if f.fault != "" {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: fs.ErrNotExist}
	}
	inner, err := f.inner()
	if err != nil {
		return nil, err
	}
	files, err := f.files("readdir", name)
	if err != nil {
		return nil, err
	}
	prefix := name + "/"
	if name == "." {
		prefix = ""
	}
	want := map[string]bool{} // by name, whether the entry is a folder
	for _, k := range files {
		if rest, below := strings.CutPrefix(k.Path, prefix); below {
			first, _, isFolder := strings.Cut(rest, "/")
			want[first] = isFolder
		}
	}
	entries, err := fs.ReadDir(inner, name)
	if err != nil {
		if broken(err) && len(want) > 0 {
			err = f.damaged("readdir", name)
		}
		return nil, err
	}
	found := 0
	for _, e := range entries {
		isFolder, wanted := want[e.Name()]
		if !wanted || isFolder != e.IsDir() {
			return nil, f.damaged("readdir", path.Join(name, e.Name()))
		}
		found++
	}
	if found != len(want) {
		return nil, f.damaged("readdir", name)
	}
	return entries, nil
}

// Whole lists the files in one pass, with their digests; see [skill.Skill.Manifest]. If they differ
// from the skill's files, ok is false, and the caller lists them in a slower way that reports the
// error.
func (f *folder) Whole(ctx context.Context, known []skill.File) ([]skill.File, bool) {
	inner, err := f.inner()
	by, can := inner.(onePass)
	if err != nil || !can || f.fault != "" {
		return nil, false
	}
	files, ok := by.Whole(ctx, known)
	if !ok {
		return nil, false
	}
	now := make([]lockfile.File, len(files))
	for i, k := range files {
		now[i] = lockfile.File{Path: k.Path, Size: k.Size, Digest: k.Digest}
	}
	if lockfile.Digest(now) != f.digest {
		_ = f.damaged("read", ".")
		return nil, false
	}
	return files, true
}

// onePass is implemented by the folders of package dir.
type onePass interface {
	Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool)
}

// folderFile is an open folder within a skill. Its entries are compared with the skill's files.
type folderFile struct {
	fs.File
	folder *folder
	name   string
}

// ReadDir implements [fs.ReadDirFile] for a caller that wants all entries.
func (f *folderFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 {
		return nil, &fs.PathError{Op: "readdir", Path: f.name, Err: errors.ErrUnsupported}
	}
	return f.folder.ReadDir(f.name)
}

var (
	_ fs.StatFS      = (*folder)(nil)
	_ fs.ReadDirFS   = (*folder)(nil)
	_ fs.ReadDirFile = (*folderFile)(nil)
)
