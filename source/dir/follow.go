package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// maxLinks bounds the links that one name may pass through. Linux allows 40
// (path_resolution(7)).
const maxLinks = 40

// errLinkLoop reports a link that leads back to itself. It is not [skill.ErrOutside], because such
// a link leads nowhere. It matches [syscall.ELOOP].
var errLinkLoop error = linkLoop{}

type linkLoop struct{}

func (linkLoop) Error() string        { return "link loop" }
func (linkLoop) Is(target error) bool { return target == error(syscall.ELOOP) }

// errDotEntry refuses a link to a dot-entry. A dot-entry does not exist for the callers of this
// package, and so a link to it leads nowhere.
var errDotEntry = fmt.Errorf("leads to a dot-entry: %w", fs.ErrNotExist)

// ownPaths returns the absolute paths by which links may name the folder that contains them.
func (f *folder) ownPaths() ownPaths {
	me := ownPaths{windows: runtime.GOOS == "windows", dots: f.dots}
	absolute := func(base string) string {
		if base == "" {
			return ""
		}
		return me.spelt(path.Join("/", path.Join(me.parts(base)...), f.sub))
	}
	if me.real, me.alias = absolute(f.alias), absolute(f.base); f.plain {
		me.real, me.alias = me.alias, me.real
	}
	return me
}

// locate follows name to an entry that is not a link, and returns that entry's path within the
// folder. The folder may change afterwards. So a caller that opens the path must forbid links
// again.
func locate(h handle, name string, f *folder) (string, *info, error) {
	in, err := h.lstat(name)
	if err == nil && !realpath.IsLink(in.Mode()) {
		return name, in, nil
	}
	if err != nil && !errors.Is(err, errThroughLink) {
		return "", nil, err
	}
	real, err := follow(h, name, f.ownPaths())
	if err != nil {
		return "", nil, err
	}
	if in, err = h.lstat(real); err != nil {
		return "", nil, err
	}
	if realpath.IsLink(in.Mode()) {
		return "", nil, errThroughLink // the entry became a link just now
	}
	return real, in, nil
}

// ownPaths contains two absolute paths of one folder: the real one, without links, and an alias.
// One that is not known is "". On Windows the paths are in lower case, and begin with a drive or a
// server.
type ownPaths struct {
	real, alias string
	windows     bool
	dots        bool // links may lead to dot-entries
}

// reenter follows the target of a link that leaves the folder, starting at the absolute path at. As
// soon as the path is in the folder again, reenter returns the rest of the target. It compares only
// the text of paths and never reads the disk outside, so nothing there can influence the result.
// The caller looks the result up beneath the folder like any other name, so a wrong guess leads
// nowhere else.
func (me ownPaths) reenter(at string, rest []string) (inside []string, ok bool) {
	for {
		switch {
		case at == me.real || at == me.alias:
			return rest, true
		case len(rest) == 0:
			return nil, false
		}
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if !above(me.real, at) {
				return nil, false // a link in the target may change what ".." means
			}
			at = path.Dir(at)
			continue
		}
		if at = path.Join(at, me.spelt(part)); !above(me.real, at) && !above(me.alias, at) {
			return nil, false
		}
	}
}

// above reports whether dir is p or one of the folders that contain p.
func above(p, dir string) bool {
	return p == dir || p != "" && (dir == "/" || strings.HasPrefix(p, dir+"/"))
}

// follow resolves the links in name one by one. The kernel could do so faster, but it would allow
// dot-entries, and would not distinguish a loop from an escape. Only the final target of a link
// counts. A link that leads out of the folder and back into it is inside (contract 001 resolves
// before it checks).
func follow(h handle, name string, me ownPaths) (string, error) {
	rest := strings.Split(name, "/")
	var done []string
	links := 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch {
		case part == "" || part == ".":
			continue
		case part == ".." && len(done) > 0:
			done = done[:len(done)-1]
			continue
		case part == "..":
			var ok bool
			if me.real == "" {
				return "", skill.ErrOutside
			}
			if rest, ok = me.reenter(path.Dir(me.real), rest); !ok {
				return "", skill.ErrOutside
			}
			continue
		case part[0] == '.' && !me.dots:
			return "", errDotEntry
		}
		at := path.Join(path.Join(done...), part)
		in, err := h.lstat(at)
		if err != nil {
			return "", err
		}
		if !realpath.IsLink(in.Mode()) {
			done = append(done, part)
			continue
		}
		if links++; links > maxLinks {
			return "", errLinkLoop
		}
		target, err := h.readlink(at)
		switch {
		case err != nil && in.Mode()&fs.ModeSymlink == 0:
			return "", skill.ErrNotRegular // irregular, but not a junction
		case err != nil:
			return "", err
		}
		next := me.parts(target)
		if me.rooted(target) {
			var ok bool
			if next, ok = me.reenter("/", next); !ok {
				return "", skill.ErrOutside
			}
			done = nil
		}
		rest = append(next, rest...)
	}
	if len(done) == 0 {
		return ".", nil
	}
	return strings.Join(done, "/"), nil
}

// rooted reports whether a link's target starts anywhere but at the link.
func (me ownPaths) rooted(target string) bool {
	if path.IsAbs(target) {
		return true
	}
	// On Windows, "C:x" and "\x" are not absolute, but lead elsewhere.
	return me.windows && (strings.HasPrefix(target, `\`) || len(target) > 1 && target[1] == ':')
}

// parts returns the names in a path of this system.
func (me ownPaths) parts(p string) []string {
	if me.windows {
		p = strings.ReplaceAll(strings.TrimPrefix(p, `\\?\`), `\`, "/")
	}
	return strings.Split(p, "/")
}

// spelt returns a path or a name in a form for comparison. Windows ignores case in nearly all
// folders. In the others, a link leads nowhere at worst.
func (me ownPaths) spelt(p string) string {
	if me.windows {
		return strings.ToLower(p)
	}
	return p
}
