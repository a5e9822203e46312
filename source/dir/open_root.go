package dir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// rootOpener opens through [os.Root], which never leaves a folder but follows links within it. So
// rootOpener walks a path one part at a time. It examines each part, opens it, and compares the two
// results.
type rootOpener struct{}

func (rootOpener) folder(dir string, plain bool) (handle, error) {
	r, err := os.OpenRoot(dir)
	if err != nil {
		if fi, statErr := os.Stat(dir); statErr == nil && !fi.IsDir() {
			err = syscall.ENOTDIR // os reports this with an error of its own
		}
		return nil, err
	}
	if plain {
		err = isPlain(r, dir)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return rootHandle{r}, nil
}

// isPlain checks that r is the folder at dir, and that no part of dir is a link. It is best effort.
// To be certain, it would have to open each part of the path, and not every parent of a readable
// folder is readable.
func isPlain(r *os.Root, dir string) error {
	opened, err := r.Stat(".")
	if err != nil {
		return err
	}
	looked, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	real, err := realpath.Eval(dir)
	if err != nil {
		return err
	}
	if real != filepath.Clean(dir) || !os.SameFile(opened, looked) {
		return errThroughLink
	}
	return nil
}

type rootHandle struct{ r *os.Root }

func (h rootHandle) close() { h.r.Close() }

// at walks to the folder at name and passes it to work.
func (h rootHandle) at(name string, work func(*os.Root) error) error {
	if name == "." {
		return mapRoot(work(h.r))
	}
	first, rest, more := strings.Cut(name, "/")
	if !more {
		rest = "."
	}
	next, err := step(h.r, first)
	if err != nil {
		return mapRoot(err)
	}
	defer next.Close()
	return rootHandle{next}.at(rest, work)
}

// step opens the folder called name in r. It must not be a link.
func step(r *os.Root, name string) (*os.Root, error) {
	looked, err := r.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case realpath.IsLink(looked.Mode()):
		return nil, errThroughLink
	case !looked.IsDir():
		return nil, fs.ErrNotExist
	}
	next, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	opened, err := next.Stat(".")
	if err == nil && !os.SameFile(looked, opened) {
		err = errThroughLink // replaced between the two calls
	}
	if err != nil {
		next.Close()
		return nil, err
	}
	return next, nil
}

func (h rootHandle) enter(name string) (out handle, err error) {
	err = h.at(path.Dir(name), func(r *os.Root) error {
		next, err := step(r, path.Base(name))
		if err == nil {
			out = rootHandle{next}
		}
		return err
	})
	return out, err
}

func (h rootHandle) lstat(name string) (out *info, err error) {
	err = h.at(path.Dir(name), func(r *os.Root) error {
		fi, err := r.Lstat(path.Base(name))
		if err == nil {
			out = infoOf(fi)
		}
		return err
	})
	return out, err
}

func (h rootHandle) readlink(name string) (target string, err error) {
	err = h.at(path.Dir(name), func(r *os.Root) (err error) {
		target, err = r.Readlink(path.Base(name))
		return err
	})
	return target, err
}

func (h rootHandle) open(name string) (out *file, err error) {
	err = h.at(path.Dir(name), func(r *os.Root) error {
		out, err = openRegular(r, path.Base(name))
		return err
	})
	return out, err
}

func openRegular(r *os.Root, name string) (*file, error) {
	looked, err := r.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case realpath.IsLink(looked.Mode()):
		return nil, errThroughLink
	case !looked.Mode().IsRegular():
		return nil, skill.ErrNotRegular
	}
	f, err := r.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, err
	}
	opened, err := f.Stat()
	if err == nil && !os.SameFile(looked, opened) {
		err = errThroughLink // a different file, or a link's target
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f: f, info: infoOf(opened)}, nil
}

func (h rootHandle) list(name string, most int) (handle, []fs.DirEntry, error) {
	in, err := h.enter(name)
	if err != nil {
		return nil, nil, err
	}
	d, err := in.(rootHandle).r.Open(".")
	if err != nil {
		return in, nil, mapRoot(err)
	}
	defer d.Close()
	entries, err := entriesOf(d, most)
	return in, entries, err
}

// mapRoot maps os.Root's refusal to [skill.ErrOutside]. The error that os.Root returns
// is not exported (golang.org/issue/67002); only its text identifies it.
func mapRoot(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && strings.Contains(p.Err.Error(), "path escapes from parent") {
		return skill.ErrOutside
	}
	return err
}
