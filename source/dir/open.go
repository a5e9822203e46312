package dir

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/knack-dev/knack/skill"
)

// maxLinks bounds the links that one name may pass through. Linux allows 40
// (path_resolution(7)).
const maxLinks = 40

// maxTries bounds how often a name is resolved again because the folder changed
// meanwhile.
const maxTries = 8

// errLinkLoop is not a [skill.ErrOutside]: a link that leads back to itself leads
// nowhere. It satisfies errors.Is(err, syscall.ELOOP).
var errLinkLoop error = linkLoop{}

type linkLoop struct{}

func (linkLoop) Error() string        { return "link loop" }
func (linkLoop) Is(target error) bool { return target == error(syscall.ELOOP) }

// errDotEntry refuses a link to a file that is never read. Such a file does not exist
// by its own name, so it does not exist by a link either.
var errDotEntry = fmt.Errorf("leads to a dot-entry: %w", fs.ErrNotExist)

// errThroughLink says that the way to a name passes through a link. It never leaves
// this package.
var errThroughLink = errors.New("passes through a link")

// A door opens folders. There are two: openat2 on Linux, and [os.Root] elsewhere and if
// the kernel or a sandbox refuses openat2.
type door interface {
	// folder opens the folder at an absolute path. The user named that path, so links
	// are followed. If plain is set, no part of the path may be a link.
	folder(dir string, plain bool) (handle, error)
}

// A handle is an open folder. Names are slash-separated, valid by [fs.ValidPath], and
// looked up beneath the folder without passing a link. If a link is on the way, the
// error is errThroughLink.
type handle interface {
	// enter opens a folder beneath.
	enter(name string) (handle, error)
	// lstat describes an entry without opening it; a last link is not followed.
	lstat(name string) (*info, error)
	readlink(name string) (string, error)
	// open opens a regular file for reading. It never blocks, and fails with
	// skill.ErrNotRegular on anything else.
	open(name string) (*file, error)
	// list enters a folder and reads its entries, in no order. Only Name and Type of
	// the entries may be used. Reading can fail halfway: a handle that is not nil must
	// be closed even then.
	list(name string) (handle, []fs.DirEntry, error)
	close()
}

// folder is one skill's folder as a file system. It holds no descriptor: each call
// opens the folder, does its work and closes it. Ten thousand skills cost ten thousand
// strings. It implements [fs.StatFS] and [fs.ReadDirFS]. Links appear as what they lead
// to, so there is no [fs.ReadLinkFS].
type folder struct {
	*ground
	sub string // the skill's folder below base, "." for base itself
}

// ground is the location of folders. Nearly all that were reached without a link share
// one.
type ground struct {
	door  door
	base  string // absolute path
	plain bool   // base was resolved: no part of it may be a link now
	alias string // another absolute path of base, "" for none; the real one if base may pass links
	dev   uint64 // of the folders' file system if that is known to keep stamps, else 0
}

// self returns the absolute paths by which links may name the folder that holds them.
func (f *folder) self() self {
	of := func(base string) string {
		if base == "" || runtime.GOOS == "windows" {
			return "" // on Windows a path's spelling says little: such links lead out
		}
		return path.Join(base, f.sub)
	}
	if f.plain {
		return self{real: of(f.base), alias: of(f.alias)}
	}
	return self{real: of(f.alias), alias: of(f.base)}
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

// Stat describes what a name leads to, which may be of any kind.
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

// with opens the folder, runs one piece of work in it and closes it. Work that meets a
// link that was not there just before is done again, since the folder is changing.
// Errors name only the path within the skill.
func (f *folder) with(op, name string, work func(handle) error) error {
	err := checkName(name)
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
	top, err := f.door.folder(f.base, f.plain)
	if err == nil && f.sub != "." {
		var h handle
		h, err = top.enter(f.sub)
		top.close()
		top = h
	}
	if errors.Is(err, errThroughLink) {
		// It was a folder when it was scanned and is a link now.
		return nil, skill.ErrOutside
	}
	return top, err
}

// checkName refuses names that no file of a skill has on any system. Dot-entries are
// never listed, read or hashed, so they do not exist.
func checkName(name string) error {
	if !fs.ValidPath(name) || strings.ContainsAny(name, "\\\x00") {
		return fs.ErrInvalid
	}
	if name == "." {
		return nil
	}
	for part := range strings.SplitSeq(name, "/") {
		// 255 bytes: NAME_MAX of every file system that Linux and macOS mount.
		if part[0] == '.' || len(part) > 255 {
			return fs.ErrNotExist
		}
	}
	return nil
}

// locate follows name to an entry that is not a link, and returns that entry's path
// within the folder. The path is a finding, not a promise: a caller that opens it must
// forbid links again.
func locate(h handle, name string, f *folder) (string, *info, error) {
	in, err := h.lstat(name)
	if err == nil && in.Mode()&fs.ModeSymlink == 0 {
		return name, in, nil
	}
	if err != nil && !errors.Is(err, errThroughLink) {
		return "", nil, err
	}
	real, err := follow(h, name, f.self())
	if err != nil {
		return "", nil, err
	}
	if in, err = h.lstat(real); err != nil {
		return "", nil, err
	}
	if in.Mode()&fs.ModeSymlink != 0 {
		return "", nil, errThroughLink // swapped just now
	}
	return real, in, nil
}

// self holds absolute paths of one folder: the real one, in which no part is a link,
// and another. Either may be "" if it is not known.
type self struct{ real, alias string }

// back follows a link's target that leaves the folder, from the absolute path at on. It
// returns the rest of the target once that is in the folder again. It walks only the
// folder's own paths, by their spelling. It does not ask the disk outside, so that
// nothing there decides what is read. The result is looked up beneath the folder like
// any other name, so a wrong guess leads nowhere else.
func (me self) back(at string, rest []string) (inside []string, ok bool) {
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
				return nil, false // behind a link, ".." is not the part that is written before it
			}
			at = path.Dir(at)
			continue
		}
		if at = path.Join(at, part); !above(me.real, at) && !above(me.alias, at) {
			return nil, false
		}
	}
}

// above reports whether dir is p or one of the folders that hold p.
func above(p, dir string) bool {
	return p == dir || p != "" && (dir == "/" || strings.HasPrefix(p, dir+"/"))
}

// follow resolves the links in name one by one. The kernel could do it faster, but it
// would allow dot-entries, and would not tell a loop from an escape. A link is judged
// by its target. A link that goes through the outside and comes back into the folder
// has not left it (contract 001 resolves before it checks).
func follow(h handle, name string, me self) (string, error) {
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
			if rest, ok = me.back(path.Dir(me.real), rest); !ok {
				return "", skill.ErrOutside
			}
			continue
		case part[0] == '.':
			return "", errDotEntry
		}
		at := path.Join(path.Join(done...), part)
		in, err := h.lstat(at)
		if err != nil {
			return "", err
		}
		if in.Mode()&fs.ModeSymlink == 0 {
			done = append(done, part)
			continue
		}
		if links++; links > maxLinks {
			return "", errLinkLoop
		}
		target, err := h.readlink(at)
		if err != nil {
			return "", err
		}
		next := splitTarget(target)
		if rooted(target) {
			var ok bool
			if next, ok = me.back("/", next); !ok {
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

// bare takes the paths out of an error. What the system says about a path below the
// user's home concerns only the user.
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
		return fs.ErrNotExist // a file in a folder's place: nothing can be below it
	case errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.ENODEV):
		return skill.ErrNotRegular // opening a socket or a device without a driver
	}
	return err
}

// pathsOf lists "." and every prefix of name.
func pathsOf(name string) []string {
	out := []string{name}
	for name != "." {
		name = path.Dir(name)
		out = append(out, name)
	}
	slices.Reverse(out)
	return out
}
