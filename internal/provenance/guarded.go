package provenance

import (
	"context"
	"crypto/sha256"
	"hash"
	"io"
	"io/fs"

	"github.com/knack-dev/knack/lockfile"
	"github.com/knack-dev/knack/skill"
)

// guardedFS is the folder of a skill whose files can be read only if they are as locked. Names
// and sizes can be read: they are in the lock too.
type guardedFS struct {
	inner fs.FS
	gate  *gate
}

// Open implements [fs.FS]. A file that is not as locked cannot be opened, or fails to be read to
// its end.
func (g *guardedFS) Open(name string) (fs.File, error) {
	v := g.gate.now.Load()
	f, err := g.inner.Open(name)
	if err != nil || v == nil {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return f, nil
	}
	if err == nil {
		err = v.refuses(name, info)
	}
	if err != nil {
		f.Close()
		if v.fault == nil {
			g.gate.changed()
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	want, _ := fileOf(v.entry, name)
	return &guardedFile{File: f, gate: g.gate, name: name, want: want, hash: sha256.New()}, nil
}

// refuses returns why a file cannot be opened, as far as its name and size tell.
func (v *verdict) refuses(name string, info fs.FileInfo) error {
	want, has := fileOf(v.entry, name)
	switch {
	case v.fault != nil:
		return v.fault
	case !has:
		return changed("'" + name + "' was added")
	case info.Size() != want.Size:
		return changed("'" + name + "' differs")
	}
	return nil
}

// Stat implements [fs.StatFS].
func (g *guardedFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(g.inner, name) }

// ReadDir implements [fs.ReadDirFS].
func (g *guardedFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(g.inner, name) }

// Whole lists the files in one pass, with their digests. If they are not as locked, it leaves the
// skill to the long way, which fails.
func (g *guardedFS) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	v := g.gate.now.Load()
	by, can := g.inner.(onePass)
	if !can || v != nil && v.fault != nil {
		return nil, false
	}
	if files, ok = by.Whole(ctx, known); ok && v != nil && differs(&skill.Skill{Bundle: &skill.Bundle{Entry: skill.MainFile}}, v.entry, files) != nil {
		g.gate.changed()
		return nil, false
	}
	return files, ok
}

// Hidden lists the files that no surface serves.
func (g *guardedFS) Hidden(ctx context.Context, limit int) (paths []string, count int, err error) {
	if by, can := g.inner.(hiddenLister); can {
		return by.Hidden(ctx, limit)
	}
	return nil, 0, nil
}

// guardedFile hashes a file while it is read. The read that would complete other content than the
// locked one fails.
type guardedFile struct {
	fs.File
	gate  *gate
	name  string
	want  lockfile.File
	hash  hash.Hash
	read  int64
	right bool // it was read to its end, and is as locked
}

// Read implements [io.Reader].
func (f *guardedFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.hash.Write(p[:n])
	f.read += int64(n)
	if f.read == f.want.Size && !f.right {
		f.right = skill.Digest(f.hash.Sum(nil)) == f.want.Digest
	} else if n > 0 && f.right {
		f.right = false // it has grown
	}
	if !f.right && (f.read >= f.want.Size || err == io.EOF) {
		f.gate.changed()
		return 0, &fs.PathError{Op: "read", Path: f.name, Err: changed("'" + f.name + "' differs")}
	}
	return n, err
}
