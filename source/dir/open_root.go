package dir

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// rootDoor opens through [os.Root], which follows links within a folder and
// never leaves it. Between the check for links and the open, somebody who may
// write in the skill can still lead a name to another file of the same skill;
// out of the skill nothing leads.
type rootDoor struct{}

func (rootDoor) folder(dir string, plain bool) (handle, error) {
	if plain {
		// os.OpenRoot cannot forbid links in the path it is given, so this check
		// is best effort: the path was resolved before it came here.
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return nil, err
		}
		if real != filepath.Clean(dir) {
			return nil, errThroughLink
		}
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return rootHandle{r}, nil
}

type rootHandle struct{ r *os.Root }

func (h rootHandle) close() { h.r.Close() }

// way fails where a link lies on the way to name, or at name itself if last.
func (h rootHandle) way(name string, last bool) error {
	steps := pathsOf(name)[1:]
	if len(steps) > 0 && !last {
		steps = steps[:len(steps)-1]
	}
	for _, step := range steps {
		fi, err := h.r.Lstat(step)
		if err != nil {
			return mapRoot(err)
		}
		if fi.Mode()&fs.ModeSymlink != 0 {
			return errThroughLink
		}
	}
	return nil
}

func (h rootHandle) enter(name string) (handle, error) {
	if err := h.way(name, true); err != nil {
		return nil, err
	}
	r, err := h.r.OpenRoot(name)
	if err != nil {
		return nil, mapRoot(err)
	}
	return rootHandle{r}, nil
}

func (h rootHandle) lstat(name string) (*info, error) {
	if err := h.way(name, false); err != nil {
		return nil, err
	}
	fi, err := h.r.Lstat(name)
	if err != nil {
		return nil, mapRoot(err)
	}
	return infoOf(fi), nil
}

func (h rootHandle) readlink(name string) (string, error) {
	target, err := h.r.Readlink(name)
	return target, mapRoot(err)
}

func (h rootHandle) open(name string) (*file, error) {
	in, err := h.lstat(name)
	if err != nil {
		return nil, err
	}
	switch {
	case in.Mode()&fs.ModeSymlink != 0:
		return nil, errThroughLink
	case !in.Mode().IsRegular():
		return nil, skill.ErrNotRegular
	}
	f, err := h.r.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, mapRoot(err)
	}
	fi, err := f.Stat()
	if err == nil && !fi.Mode().IsRegular() {
		err = skill.ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{f: f, info: infoOf(fi)}, nil
}

func (h rootHandle) list(name string) ([]fs.DirEntry, error) {
	if err := h.way(name, true); err != nil {
		return nil, err
	}
	fi, err := h.r.Lstat(name)
	if err != nil {
		return nil, mapRoot(err)
	}
	if !fi.IsDir() {
		return nil, errNotDirectory
	}
	d, err := h.r.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, mapRoot(err)
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	return entries, mapRoot(err)
}

// mapRoot gives os.Root's refusal our name. The error it returns is not
// exported (golang.org/issue/67002), its text is all there is.
func mapRoot(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && strings.Contains(p.Err.Error(), "path escapes from parent") {
		return skill.ErrOutside
	}
	return err
}

// rooted reports whether a link's target starts anywhere but at the link.
func rooted(target string) bool {
	if path.IsAbs(target) {
		return true
	}
	// On Windows "C:x" and "\x" are not absolute and still lead elsewhere.
	return runtime.GOOS == "windows" &&
		(filepath.VolumeName(target) != "" || strings.HasPrefix(target, `\`))
}

func splitTarget(target string) []string {
	return strings.Split(filepath.ToSlash(target), "/")
}
