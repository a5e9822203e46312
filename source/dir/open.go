package dir

import (
	"cmp"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/skill"
)

// maxTries bounds how often a name is resolved again because the folder changed
// meanwhile.
const maxTries = 8

// errThroughLink reports that the path to a name passes through a link. It never leaves this
// package.
var errThroughLink = errors.New("passes through a link")

// An opener opens folders. One implementation uses openat2 on Linux. The other uses [os.Root], on
// other systems and if the kernel or a sandbox refuses openat2.
type opener interface {
	// folder opens the folder at an absolute path, and follows links, because the user named that
	// path. If plain is set, no part of the path may be a link.
	folder(dir string, plain bool) (handle, error)
}

// A handle is an open folder. Names are slash-separated and valid by [fs.ValidPath]. They are
// looked up beneath the folder. If a link is on the way, the error is errThroughLink.
type handle interface {
	// enter opens a folder beneath this one.
	enter(name string) (handle, error)
	// lstat describes an entry without opening it. If the entry is a link, it describes the link.
	lstat(name string) (*info, error)
	readlink(name string) (string, error)
	// open opens a regular file for reading. It never blocks, and fails with
	// skill.ErrNotRegular on anything else.
	open(name string) (*file, error)
	// list enters a folder and reads its entries, in no order. Only Name and Type of the entries
	// may be used. If there are more than most entries, and most is not negative, the error is
	// skill.ErrTooLarge. Reading can fail halfway, so the caller closes a handle that is not nil
	// even after an error.
	list(name string, most int) (handle, []fs.DirEntry, error)
	close()
}

// folder is one skill's folder as a file system. It holds no descriptor. Each call opens the
// folder, does its work and closes it, so ten thousand skills cost only ten thousand strings. It
// implements [fs.StatFS] and [fs.ReadDirFS]. Links appear as their targets, so it does not
// implement [fs.ReadLinkFS].
type folder struct {
	*location
	sub string // the skill's folder below base, "." for base itself
}

// location contains the path of folders. Nearly all folders that are reached without a link share
// one location.
type location struct {
	opener opener
	base   string // absolute path
	plain  bool   // base was resolved: no part of it may be a link now
	alias  string // another absolute path of base, or ""; the real path if base contains links
	dev    uint64 // device of the folders' file system if that is known to keep stamps, else 0
	dots   bool   // dot-entries are visible, because the folder is not a skill's
}

var (
	_ fs.StatFS    = (*folder)(nil)
	_ fs.ReadDirFS = (*folder)(nil)
)

// Open opens a regular file or a directory.
func (f *folder) Open(name string) (fs.File, error) {
	var out fs.File
	err := f.with("open", name, func(h handle) error {
		opened, err := h.open(name)
		if errors.Is(err, errThroughLink) || errors.Is(err, skill.ErrNotRegular) {
			real, in, err := locate(h, name, f)
			if err != nil {
				return err
			}
			if in.IsDir() {
				out = &dirFile{folder: f, path: name, info: in.named(name)}
				return nil
			}
			if opened, err = h.open(real); err != nil {
				return err
			}
		} else if err != nil {
			return err
		}
		opened.info = opened.info.named(name)
		out = opened
		return nil
	})
	return out, err
}

// Stat describes the file with a name, of any kind. It follows links.
func (f *folder) Stat(name string) (fs.FileInfo, error) {
	var out fs.FileInfo
	err := f.with("stat", name, func(h handle) error {
		_, in, err := locate(h, name, f)
		if err == nil {
			out = in.named(name)
		}
		return err
	})
	return out, err
}

// with opens the folder, passes it to work and closes it. If work meets a link that has just
// appeared, the folder is changing, so work is called again. Errors name only the path within the
// skill.
func (f *folder) with(op, name string, work func(handle) error) error {
	err := f.checkName(name)
	if err == nil {
		err = f.try(work)
	}
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: bare(err)}
}

func (f *folder) try(work func(handle) error) error {
	h, err := f.enter()
	if err != nil {
		return err
	}
	defer h.close()
	for range maxTries {
		if err = work(h); !errors.Is(err, errThroughLink) {
			return err
		}
	}
	return skill.ErrUnstable
}

func (f *folder) enter() (handle, error) {
	top, err := f.opener.folder(f.base, f.plain)
	if err == nil && f.sub != "." {
		var h handle
		h, err = top.enter(f.sub)
		top.close()
		top = h
	}
	if errors.Is(err, errThroughLink) {
		// It was a folder when it was scanned, and now it is a link.
		return nil, skill.ErrOutside
	}
	return top, err
}

// checkName checks a name as the function checkName does, and allows dot-entries if f.dots is set.
func (f *folder) checkName(name string) error {
	if err := checkName(name); err == nil || !f.dots || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for part := range strings.SplitSeq(name, "/") {
		if err := checkName(cmp.Or(strings.TrimLeft(part, "."), "_")); err != nil {
			return err
		}
	}
	return nil
}

// checkName refuses names that no file of a skill has on any system. It also refuses dot-entries,
// which are never listed, read or hashed.
func checkName(name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return fs.ErrInvalid
	}
	if name == "." {
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		// 255 bytes: NAME_MAX of every file system that Linux and macOS mount.
		if part[0] == '.' || len(part) > 255 || runtime.GOOS == "windows" && isAlias(part) {
			return fs.ErrNotExist
		}
	}
	return nil
}

// isAlias reports whether Windows may open a file of a different name for this one. For "SKILL.md."
// and "SKILL.md::$DATA", it opens SKILL.md.
func isAlias(part string) bool {
	return strings.TrimRight(part, ". ") != part || strings.Contains(part, ":")
}

// bare removes the paths from an error. A path in the user's home does not concern clients.
func bare(err error) error {
	for {
		var p *fs.PathError
		if !errors.As(err, &p) {
			break
		}
		err = p.Err
	}
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return fs.ErrNotExist // a file is where a folder should be, so nothing can be below it
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return skill.ErrNotRegular // the error for opening a socket, or a device without a driver
	}
	return err
}
