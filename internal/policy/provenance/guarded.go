package provenance

import (
	"context"
	"io/fs"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
)

// guardedFS is the folder of a skill whose files can be read only if they match the lock. Names and
// sizes can always be read: they are in the lock too.
type guardedFS struct {
	inner  fs.FS
	gate   *gate
	locks  *Locks
	bundle *skill.Bundle // as package dir found it
}

// entry returns the skill's entry in the present lock, nil if there is no lock, or the reason that
// no file can be opened. If the lock has changed since the last scan, it requests a refresh.
func (g *guardedFS) entry() (*lockfile.Entry, *skill.LockError) {
	v := g.gate.now.Load()
	if v == nil {
		v = &verdict{}
	}
	lock, key := g.locks.find(g.bundle, 0)
	if lock == nil {
		return nil, v.fault
	}
	entry, has := lock.entry(key)
	if has = has && lock.fault == nil; entry.Digest != v.entry.Digest || !has && v.fault == nil {
		g.gate.changed()
	}
	if v.fault == nil && !has {
		return nil, lock.without(g.bundle, key)
	}
	return &entry, v.fault
}

// Open implements [fs.FS]. For a file that does not match the lock, Open or the last Read fails.
func (g *guardedFS) Open(name string) (fs.File, error) {
	entry, fault := g.entry()
	f, err := g.inner.Open(name)
	if err != nil || entry == nil && fault == nil {
		return f, err
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return f, nil
	}
	var want lockfile.File
	if err == nil && fault != nil {
		err = fault
	} else if err == nil {
		if want, err = fileToRead(entry, name, info); err != nil {
			g.gate.changed()
		}
	}
	if err != nil {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return skill.Verified(f, want.Size, want.Digest, func() error {
		g.gate.changed()
		return &fs.PathError{Op: "read", Path: name, Err: changed("'" + name + "' differs")}
	}), nil
}

// fileToRead returns the locked file of this name, or an error if the name or size does not match
// the lock.
func fileToRead(entry *lockfile.Entry, name string, info fs.FileInfo) (lockfile.File, error) {
	want, has := fileOf(*entry, name)
	switch {
	case !has:
		return want, changed("'" + name + "' was added")
	case info.Size() != want.Size:
		return want, changed("'" + name + "' differs")
	}
	return want, nil
}

// Stat implements [fs.StatFS].
func (g *guardedFS) Stat(name string) (fs.FileInfo, error) { return fs.Stat(g.inner, name) }

// ReadDir implements [fs.ReadDirFS].
func (g *guardedFS) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(g.inner, name) }

// Whole lists the files in one pass, with their digests. If they do not match the lock, it reports
// false, and hashing them one by one fails.
func (g *guardedFS) Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool) {
	by, can := g.inner.(onePass)
	entry, fault := g.entry()
	if !can || fault != nil {
		return nil, false
	}
	if files, ok = by.Whole(ctx, known); ok && entry != nil && differs(&skill.Skill{Bundle: &skill.Bundle{Entry: skill.MainFile}}, *entry, files) != nil {
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
