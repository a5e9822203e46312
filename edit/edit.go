package edit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// The reasons for which a file is left alone.
var (
	ErrLink      = errors.New("is a link; change the file that it leads to")
	ErrIrregular = errors.New("is not a regular file")
	ErrReadOnly  = errors.New("is read-only")
	ErrChanged   = errors.New("has changed since it was read")
	ErrExists    = errors.New("exists already")
)

// Replace gives the file at path the new content if it holds the old one. The new
// file is written beside it, synced and renamed over it, so a reader sees one or
// the other and a crash leaves one of them; its permissions stay. A link and a
// file that its owner may not write are refused. Other hard links to the file
// keep the old content.
func Replace(path string, old, new []byte) error {
	info, err := regular(path)
	if err != nil {
		return err
	}
	if bytes.Equal(old, new) {
		return nil
	}
	temp, err := write(filepath.Dir(path), info.Mode().Perm(), new)
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

// write makes a new file with the data on disk and returns its name.
func write(dir string, mode fs.FileMode, data []byte) (name string, err error) {
	f, err := os.CreateTemp(dir, ".knack-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return "", err
	}
	if err := f.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return "", err
	}
	return f.Name(), f.Sync()
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
	return fmt.Errorf("%s %s: %w", op, path, err)
}
