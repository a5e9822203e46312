// Package edit changes and creates files that the user named. A change happens completely or not at
// all, and only if the file still has the content that was read. Package audit appends to its own
// log. This package writes all other files of knack, and knows nothing about their content.
//
// No part of a path may be a link. A caller resolves a path once. It calls [Within] if a cloned
// repository may have placed links in the path, and [Named] if the user named the path. A function
// of this package then opens the file's folder, and looks, reads and writes through that handle. If
// another process puts a link into the path, at any moment, the function fails and never writes
// elsewhere.
package edit

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
)

// The reasons for which this package refuses a file.
var (
	errLink      = errors.New("it is a link; change the file that it leads to")
	ErrIrregular = errors.New("it is not a regular file")
	ErrReadOnly  = errors.New("it is read-only")
	ErrChanged   = errors.New("it has changed since it was read")
	ErrExists    = errors.New("it exists already")
	errForeign   = errors.New("another user may have written it")
	errOwner     = errors.New("it belongs to another user or group, which the new file could not; change it as its owner")
	// errAttributes is returned for a file with an access control list (ACL) or other
	// extended attributes that the new file cannot have.
	errAttributes = errors.New("it has an access control list or extended attributes that the new file could not have; change it by hand")
)

// writing is read-locked during each write. [Settle] locks it for writing.
var writing sync.RWMutex

// Settle waits for the writes in progress, and blocks all later ones. A process calls it before it
// exits while work is under way. Then no temporary file is left behind.
func Settle() { writing.Lock() }

// Replace gives the file at path the new content if it has the old content. It writes and syncs a
// new file beside it, and renames the new file over it. So a reader, also after a crash, finds
// either the old file or the new one. The new file gets the owner and permissions of the old one,
// and on Linux its ACL and other extended attributes. On other systems the folder determines the
// attributes.
//
// Replace refuses a link, a file that its owner may not write, and a file with an owner or
// attributes that the new file cannot have. Other hard links to the file keep the old content.
func Replace(path string, old, new []byte) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(path, func(in *os.Root, name string) error {
		info, err := regular(in, name)
		if err != nil {
			return err
		}
		if bytes.Equal(old, new) {
			return nil
		}
		temp, err := write(in, name, info, new)
		if err != nil {
			return pathError("write beside", path, err)
		}
		defer temp.end()
		// This check comes as late as possible, so that a change made in the meantime is not
		// lost.
		now, err := readRegular(in, name)
		if err != nil {
			return pathError("read", path, err)
		}
		if !bytes.Equal(now, old) {
			return pathError("replace", path, ErrChanged)
		}
		if err := in.Rename(temp.name, name); err != nil {
			return pathError("replace", path, err)
		}
		syncFolder(in)
		return nil
	})
}

// readRegular reads a regular file of a folder. It does not follow a link or block on a pipe.
func readRegular(in *os.Root, name string) ([]byte, error) {
	f, err := openRegular(in, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

func openRegular(in *os.Root, name string) (*os.File, error) {
	seen, err := in.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, ErrChanged
	}
	f, err := in.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if opened, err := f.Stat(); err != nil || !os.SameFile(seen, opened) {
		f.Close()
		return nil, ErrChanged
	}
	return f, nil
}

// Create makes the file at path, completely or not at all, and the folders above it. If the file
// exists, Create leaves it unchanged and returns [ErrExists]. The process's umask applies to mode.
func Create(path string, data []byte, mode fs.FileMode) error {
	writing.RLock()
	defer writing.RUnlock()
	in, err := makeFolder(filepath.Dir(path), 0o777)
	if err != nil {
		return pathError("make the folder of", path, err)
	}
	defer in.Close()
	name := filepath.Base(path)
	if _, err := in.Lstat(name); err == nil {
		return pathError("create", path, ErrExists)
	}
	temp, err := writeNew(in, mode, data)
	if err != nil {
		return pathError("write beside", path, err)
	}
	defer temp.end()
	return temp.renameNew(name)
}

// renameNew renames the temporary file to name, in the same folder. It fails with [ErrExists] if
// that name exists.
func (t *temporary) renameNew(name string) error {
	path := filepath.Join(t.in.Name(), name)
	// Link fails if another process has made the file meanwhile. A rename would replace that file.
	err := t.in.Link(t.name, name)
	switch _, there := t.in.Lstat(name); {
	case errors.Is(err, fs.ErrExist):
		return pathError("create", path, ErrExists)
	case err != nil && there != nil: // the file system has no hard links
		err = t.in.Rename(t.name, name)
	}
	if err != nil {
		return pathError("create", path, err)
	}
	syncFolder(t.in)
	return nil
}

// Remove removes a file.
func Remove(path string) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(path, func(in *os.Root, name string) error {
		if err := in.Remove(name); err != nil {
			return pathError("remove", path, err)
		}
		return nil
	})
}

// RemoveUnchanged removes the file at path if it has the old content. It refuses the same files as
// [Replace].
func RemoveUnchanged(path string, old []byte) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(path, func(in *os.Root, name string) error {
		if _, err := regular(in, name); err != nil {
			return err
		}
		now, err := readRegular(in, name)
		if err != nil {
			return pathError("read", path, err)
		}
		if !bytes.Equal(now, old) {
			return pathError("remove", path, ErrChanged)
		}
		if err := in.Remove(name); err != nil {
			return pathError("remove", path, err)
		}
		syncFolder(in)
		return nil
	})
}

// maxBackups bounds the number of backups beside a file.
const maxBackups = 1000

// Backup writes data to a new file beside the file at path. The backup gets the owner, permissions
// and attributes of the file, so it is as private. It is called path.bak or, if that exists,
// path.bak1, path.bak2 and so on. Backup returns its path. If one of these files already has the
// same data and permissions, Backup returns that path, and isNew is false. Backup refuses the same
// files as [Replace].
func Backup(path string, data []byte) (backup string, isNew bool, err error) {
	writing.RLock()
	defer writing.RUnlock()
	err = inFolderOf(path, func(in *os.Root, name string) error {
		info, err := regular(in, name)
		if err != nil {
			return err
		}
		var temp *temporary
		for n := range maxBackups {
			more := ".bak"
			if n > 0 {
				more += fmt.Sprint(n)
			}
			there, missing := in.Lstat(name + more)
			if missing == nil {
				err = pathError("create", path+more, ErrExists)
				if there.Mode() == info.Mode() && there.Size() == int64(len(data)) {
					if have, unread := readRegular(in, name+more); unread == nil && bytes.Equal(have, data) {
						backup = path + more
						return nil
					}
				}
				continue
			}
			if temp == nil {
				if temp, err = write(in, name, info, data); err != nil {
					return pathError("write beside", path, err)
				}
				defer temp.end()
			}
			if err = temp.renameNew(name + more); !errors.Is(err, ErrExists) {
				backup, isNew = path+more, err == nil
				return err
			}
		}
		return err
	})
	return backup, isNew, err
}

// Rename gives the file at path another name in its folder. It never replaces another file. If the
// file system ignores case, it can also change the spelling of the file's own name.
func Rename(path, name string) error {
	writing.RLock()
	defer writing.RUnlock()
	return inFolderOf(path, func(in *os.Root, old string) error {
		info, err := regular(in, old)
		if err != nil {
			return err
		}
		if other, lstatErr := in.Lstat(name); lstatErr == nil && os.SameFile(info, other) {
			err = in.Rename(old, name)
		} else {
			err = moveNew(in, old, in, name)
		}
		switch {
		case errors.Is(err, ErrExists), errors.Is(err, fs.ErrExist):
			return pathError("rename to", filepath.Join(in.Name(), name), ErrExists)
		case err != nil:
			return pathError("rename", path, err)
		}
		syncFolder(in)
		return nil
	})
}

// regular returns an error for anything but a writable regular file. It checks the mode, because an
// administrator could write a file that its owner made read-only.
func regular(in *os.Root, name string) (fs.FileInfo, error) {
	path := filepath.Join(in.Name(), name)
	info, err := in.Lstat(name)
	switch {
	case err != nil:
		return nil, pathError("find", path, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, pathError("change", path, errLink)
	case !info.Mode().IsRegular():
		return nil, pathError("change", path, ErrIrregular)
	case info.Mode().Perm()&0o200 == 0:
		return nil, pathError("change", path, ErrReadOnly)
	}
	return info, nil
}

// write writes data to a new file beside the file called name, and syncs it. The new file gets the
// permissions in model, and the owner and attributes of that file.
func write(in *os.Root, name string, model fs.FileInfo, data []byte) (*temporary, error) {
	temp, err := writeNew(in, 0o600, data)
	if err != nil {
		return nil, err
	}
	// A change of owner removes permissions, so the permissions come last. Until then, the mode
	// prevents access through an ACL that the file inherited from its folder.
	if err = copyOwner(temp, model); err == nil {
		err = copyAttributes(temp, name)
	}
	if err == nil {
		err = in.Chmod(temp.name, model.Mode().Perm())
	}
	if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		temp.end()
		return nil, err
	}
	return temp, nil
}

// tempPrefix begins the names of temporary files and folders.
const tempPrefix = ".knack-"

// IsTemporary reports whether a name belongs to a file that this package writes before renaming it.
// A killed process can leave such a file behind. It is safe to delete.
func IsTemporary(name string) bool {
	rest, ok := strings.CutPrefix(name, tempPrefix)
	return ok && len(rest) == len(rand.Text()) && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567") == ""
}

// temporary is a file that is written before it is renamed. It stays open and locked until it is
// renamed. So [SweepFiles] can distinguish it from a file of a killed process.
type temporary struct {
	in   *os.Root // its folder, which the caller closes
	name string
	f    *os.File
}

// end unlocks the file, and removes it if it was not renamed.
func (t *temporary) end() {
	t.in.Remove(t.name) // fails if the file was renamed
	t.f.Close()
}

// writeNew writes data to a new temporary file and syncs it. The umask applies to mode.
func writeNew(in *os.Root, mode fs.FileMode, data []byte) (_ *temporary, err error) {
	t := &temporary{in: in, name: tempPrefix + rand.Text()}
	if t.f, err = in.OpenFile(t.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode); err != nil {
		return nil, err
	}
	_ = lock(t.f) // without a lock, SweepFiles may make the rename fail
	_, err = t.f.Write(data)
	if err == nil {
		err = fsync(t.f)
	}
	if runtime.GOOS == "windows" { // Windows cannot rename or remove an open file
		err = errors.Join(err, t.f.Close())
	}
	if err != nil {
		t.end()
		return nil, err
	}
	return t, nil
}

// fsync makes a file's data, or a folder's names, survive a crash. Tests replace it.
var fsync = (*os.File).Sync

// syncFolder makes a rename durable. It ignores errors, since some file systems cannot sync
// folders.
func syncFolder(in *os.Root) {
	f, err := in.Open(".")
	if err != nil {
		return
	}
	defer f.Close()
	_ = fsync(f)
}

func pathError(op, path string, err error) error {
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
