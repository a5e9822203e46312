package edit

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The reasons for which a file is left alone.
var (
	ErrLink      = errors.New("it is a link; change the file that it leads to")
	ErrIrregular = errors.New("it is not a regular file")
	ErrReadOnly  = errors.New("it is read-only")
	ErrChanged   = errors.New("it has changed since it was read")
	ErrExists    = errors.New("it exists already")
	ErrOwner     = errors.New("it belongs to another user or group, which the new file could not; change it as its owner")
)

// Replace gives the file at path the new content if it holds the old one. The new
// file is written beside it, synced and renamed over it, so a reader sees one or
// the other and a crash leaves one of them; its owner and permissions stay. A link,
// a file that its owner may not write, and one whose owner the new file cannot have
// are refused. Other hard links to the file
// keep the old content.
func Replace(path string, old, new []byte) error {
	info, err := regular(path)
	if err != nil {
		return err
	}
	if bytes.Equal(old, new) {
		return nil
	}
	temp, err := write(filepath.Dir(path), info, new)
	if err != nil {
		return fail("write beside", path, err)
	}
	defer os.Remove(temp) // gone by then, if all went well
	// As late as can be: whoever saved the file meanwhile loses nothing.
	now, err := os.ReadFile(path)
	if err != nil {
		return fail("read", path, err)
	}
	if !bytes.Equal(now, old) {
		return fail("replace", path, ErrChanged)
	}
	if err := os.Rename(temp, path); err != nil {
		return fail("replace", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// Create makes the file at path, with the folders above it, whole or not at all:
// one that is there already stays, and the error is [ErrExists]. The mode is
// narrowed by the process's umask.
func Create(path string, data []byte, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fail("make the folder of", path, err)
	}
	if _, err := os.Lstat(path); err == nil {
		return fail("create", path, ErrExists)
	}
	temp, err := writeNew(dir, mode, data)
	if err != nil {
		return fail("write beside", path, err)
	}
	defer os.Remove(temp)
	// A link fails where somebody was faster; a rename would replace their file.
	err = os.Link(temp, path)
	switch _, there := os.Lstat(path); {
	case errors.Is(err, fs.ErrExist):
		return fail("create", path, ErrExists)
	case err != nil && there != nil: // a disk without hard links
		err = os.Rename(temp, path)
	}
	if err != nil {
		return fail("create", path, err)
	}
	return syncFolder(dir)
}

// maxKept bounds how many earlier files are kept beside one.
const maxKept = 1000

// Keep writes data to a new file called name, or else name1, name2 and so on, and
// returns its path.
func Keep(name string, data []byte, mode fs.FileMode) (path string, err error) {
	for n := range maxKept {
		if path = name; n > 0 {
			path = fmt.Sprint(name, n)
		}
		if err = Create(path, data, mode); !errors.Is(err, ErrExists) {
			return path, err
		}
	}
	return "", err
}

// Rename gives the file at path another name in its folder. It never replaces
// another file; where the system does not tell case apart, the other spelling of
// the file's own name is not one.
func Rename(path, name string) error {
	info, err := regular(path)
	if err != nil {
		return err
	}
	to := filepath.Join(filepath.Dir(path), name)
	if other, err := os.Lstat(to); err == nil && !os.SameFile(info, other) {
		return fail("rename to", to, ErrExists)
	}
	if err := os.Rename(path, to); err != nil {
		return fail("rename", path, err)
	}
	return syncFolder(filepath.Dir(path))
}

// regular refuses what is no writable regular file. Permissions are asked by the
// mode: an administrator's account could write, and the owner said not to.
func regular(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, fail("find", path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, fail("change", path, ErrLink)
	case !info.Mode().IsRegular():
		return nil, fail("change", path, ErrIrregular)
	case info.Mode().Perm()&0o200 == 0:
		return nil, fail("change", path, ErrReadOnly)
	}
	return info, nil
}

// write makes a new file with the data on disk, the owner and the permissions of
// another, and returns its name.
func write(dir string, of fs.FileInfo, data []byte) (name string, err error) {
	name, err = writeNew(dir, 0o600, data)
	if err != nil {
		return "", err
	}
	err = own(name, of)
	if err == nil { // in this order: a new owner takes permissions away
		err = os.Chmod(name, of.Mode().Perm())
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		os.Remove(name)
		return "", err
	}
	return name, nil
}

// temporary begins the names of files that are being written.
const temporary = ".knack-"

// IsTemporary reports whether a file's name is one under which this package writes
// before it renames. A process that was killed meanwhile leaves such a file behind; it
// can be deleted.
func IsTemporary(name string) bool {
	rest, ok := strings.CutPrefix(name, temporary)
	return ok && len(rest) == len(rand.Text()) && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// writeNew is write with a mode that the umask narrows.
func writeNew(dir string, mode fs.FileMode, data []byte) (name string, err error) {
	name = filepath.Join(dir, temporary+rand.Text())
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(name)
		return "", err
	}
	return name, nil
}

// syncFolder makes a rename last. Where folders cannot be synced, it is lasting
// enough as it is.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	_ = f.Sync()
	return nil
}

func fail(op, path string, err error) error {
	var p *fs.PathError
	var l *os.LinkError
	switch {
	case errors.As(err, &p):
		err = p.Err
	case errors.As(err, &l):
		err = l.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}
