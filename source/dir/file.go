package dir

import (
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/knack-dev/knack/skill"
)

// info describes an entry. Unlike [os.FileInfo], it contains the file's identity on every system
// that has one.
type info struct {
	name  string
	mode  fs.FileMode
	stamp skill.Stamp
	// sys is the result of package os. It is set on systems where the stamp does not contain the
	// identity.
	sys fs.FileInfo
}

func (i *info) Name() string       { return i.name }
func (i *info) Size() int64        { return i.stamp.Size }
func (i *info) Mode() fs.FileMode  { return i.mode }
func (i *info) ModTime() time.Time { return time.Unix(0, i.stamp.MTime) }
func (i *info) IsDir() bool        { return i.mode.IsDir() }
func (i *info) Sys() any           { return nil }

// Stamp is the file's identity; see [skill.StampOf].
func (i *info) Stamp() skill.Stamp { return i.stamp }

// named returns the same info with the last part of a path as its name.
func (i *info) named(name string) *info {
	c := *i
	c.name = path.Base(name)
	return &c
}

func (i *info) same(j *info) bool {
	if i.sys != nil && j.sys != nil {
		return os.SameFile(i.sys, j.sys)
	}
	return i.stamp.Dev == j.stamp.Dev && i.stamp.Inode == j.stamp.Inode
}

// infoOf converts an [fs.FileInfo] that os returned.
func infoOf(fi fs.FileInfo) *info {
	i := &info{name: fi.Name(), mode: fi.Mode(), sys: fi}
	i.stamp = skill.Stamp{Size: fi.Size(), MTime: fi.ModTime().UnixNano()}
	fillStamp(&i.stamp, fi)
	return i
}

// file is an opened regular file. It has only methods that read, so no caller can change the file
// or learn its location.
type file struct {
	f     *os.File
	info  *info // the file when it was opened
	asked bool
}

// Stat describes the file. The first call describes the file when it was opened, and later calls
// the file now. A reader that calls Stat before and after reading detects a write in between.
func (f *file) Stat() (fs.FileInfo, error) {
	if !f.asked {
		f.asked = true
		return f.info, nil
	}
	now, err := f.f.Stat()
	if err != nil {
		return nil, bare(err)
	}
	return infoOf(now).named(f.info.name), nil
}

func (f *file) Read(p []byte) (int, error)                { return f.f.Read(p) }
func (f *file) ReadAt(p []byte, off int64) (int, error)   { return f.f.ReadAt(p, off) }
func (f *file) Seek(off int64, whence int) (int64, error) { return f.f.Seek(off, whence) }
func (f *file) Close() error                              { return f.f.Close() }
