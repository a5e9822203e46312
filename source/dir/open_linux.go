package dir

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
)

// pickOpener prefers openat2 (Linux 5.6). Old kernels refuse openat2 with ENOSYS, sandboxes often
// with EPERM, and kernels that do not know a flag with E2BIG or EINVAL.
var pickOpener = sync.OnceValue(func() opener {
	fd, err := openat2(unix.AT_FDCWD, ".", unix.O_PATH|unix.O_DIRECTORY, beneath)
	if err != nil {
		return rootOpener{}
	}
	unix.Close(fd)
	return kernelOpener{}
})

// beneath keeps a lookup below its folder, and refuses links of either kind. It allows mounts,
// because only an administrator makes them.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS

// kernelOpener makes the kernel forbid links during the same lookup that opens. Nothing can be
// replaced in between.
type kernelOpener struct{}

func (kernelOpener) folder(dir string, plain bool) (handle, error) {
	var resolve uint64
	if plain {
		resolve = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	}
	fd, err := openat2(unix.AT_FDCWD, dir, unix.O_PATH|unix.O_DIRECTORY, resolve)
	if err != nil {
		return nil, err
	}
	return fdHandle(fd), nil
}

type fdHandle int

func (h fdHandle) close() { unix.Close(int(h)) }

func (h fdHandle) enter(name string) (handle, error) {
	fd, err := openat2(int(h), name, unix.O_PATH|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, err
	}
	return fdHandle(fd), nil
}

func (h fdHandle) lstat(name string) (*info, error) {
	var st unix.Stat_t
	if !strings.Contains(name, "/") {
		// The name is one part and not "..", and a last link is not followed. So nothing can
		// redirect the lookup.
		flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
		if err := retry(func() error { return unix.Fstatat(int(h), name, &st, flags) }); err != nil {
			return nil, err
		}
		return infoOfStat(name, &st), nil
	}
	fd, err := openat2(int(h), name, unix.O_PATH|unix.O_NOFOLLOW, beneath)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	return infoOfStat(name, &st), nil
}

func (h fdHandle) readlink(name string) (string, error) {
	fd, err := openat2(int(h), name, unix.O_PATH|unix.O_NOFOLLOW, beneath)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	var buf [unix.PathMax]byte
	n, err := unix.Readlinkat(fd, "", buf[:])
	if err != nil {
		return "", err
	}
	return string(buf[:n]), nil
}

// open checks the file's kind before it opens the file. Opening a device can have effects (a
// watchdog, a tape) that O_NONBLOCK does not prevent. The check costs a microsecond or two. Only a
// user with the right to create devices can put one in the file's place between the check and the
// open.
func (h fdHandle) open(name string) (*file, error) {
	in, err := h.lstat(name)
	switch {
	case err != nil:
		return nil, err
	case in.mode&fs.ModeSymlink != 0:
		return nil, errThroughLink
	case !in.mode.IsRegular():
		return nil, skill.ErrNotRegular
	}
	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, beneath)
	if err != nil {
		return nil, err
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = skill.ErrNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	// A regular file does not need O_NONBLOCK, and os would ask the poller about it.
	_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFL, 0)
	return &file{f: os.NewFile(uintptr(fd), name), info: infoOfStat(name, &st)}, nil
}

func (h fdHandle) list(name string, most int) (handle, []fs.DirEntry, error) {
	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, nil, err
	}
	d := os.NewFile(uintptr(fd), name)
	entries, err := entriesOf(d, most)
	return readHandle{fdHandle(fd), d}, entries, err
}

// children reads the entries in the form of the system (getdents64(2)). Most entries are files that
// a scan does not need, and children allocates nothing for them.
func (h fdHandle) children(name string, r *reader) (handle, []child, error) {
	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, nil, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil {
		r.stamp = stampOfStat(&st)
	}
	if r.entries == nil {
		r.entries = make([]byte, 32<<10)
	}
	for {
		n := 0
		err := retry(func() (err error) {
			n, err = unix.Getdents(fd, r.entries)
			return err
		})
		if err != nil || n == 0 {
			return fdHandle(fd), r.found, err
		}
		for raw := r.entries[:n]; len(raw) > direntName; {
			size := binary.NativeEndian.Uint16(raw[16:])
			kind, name := raw[18], raw[direntName:size]
			raw = raw[size:]
			name = name[:bytes.IndexByte(name, 0)]
			if kind == unix.DT_REG && string(name) == gitLink {
				r.git = true
				continue
			}
			if kind == unix.DT_REG && len(name) != len(skill.MainFile) && !typo.MayBeMainFile(name) && !(r.texts && bytes.IndexByte(name, '.') < 0) || string(name) == "." || string(name) == ".." {
				continue
			}
			c := child{name: string(name), folder: kind == unix.DT_DIR, link: kind == unix.DT_LNK, regular: kind == unix.DT_REG}
			if kind == unix.DT_UNKNOWN {
				in, err := fdHandle(fd).lstat(c.name)
				if err != nil {
					continue // the entry is gone
				}
				c.folder, c.link, c.regular = in.IsDir(), in.Mode()&fs.ModeSymlink != 0, in.Mode().IsRegular()
			}
			r.add(c)
		}
	}
}

// direntName is the offset of the name in an entry: after the inode, the offset, the
// entry's size and its type.
const direntName = 19

func (h fdHandle) read(name string, limit int64, buf []byte) ([]byte, skill.Stamp, error) {
	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, beneath)
	if err != nil {
		return nil, skill.Stamp{}, err
	}
	defer unix.Close(fd)
	var before, after unix.Stat_t
	switch err := unix.Fstat(fd, &before); {
	case err != nil:
		return nil, skill.Stamp{}, err
	case before.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, skill.Stamp{}, skill.ErrNotRegular
	case before.Size > limit:
		return nil, skill.Stamp{}, skill.ErrTooLarge
	}
	if int64(cap(buf)) <= before.Size {
		buf = make([]byte, max(before.Size+8<<10, 32<<10)) // nearly all files fit
	}
	buf = buf[:cap(buf)]
	n := 0
	// An empty file is read too. The size 0 may also mean that the file cannot be read, or that the
	// system generates it.
	size := max(before.Size, 1)
	for int64(n) < size {
		m := 0
		err := retry(func() (err error) {
			m, err = unix.Read(fd, buf[n:size])
			return err
		})
		if err != nil {
			return nil, skill.Stamp{}, err
		}
		if m == 0 {
			break
		}
		n += m
	}
	if err := unix.Fstat(fd, &after); err != nil {
		return nil, skill.Stamp{}, err
	}
	stamp := stampOfStat(&before)
	if int64(n) != before.Size || stampOfStat(&after) != stamp {
		return nil, skill.Stamp{}, skill.ErrUnstable
	}
	return buf[:n], stamp, nil
}

// keepsTimes reports whether the file system is in a list of those that are known to keep stamps.
// On other file systems, a remote server or a program determines the stamps.
func (h fdHandle) keepsTimes() bool {
	var st unix.Statfs_t
	if unix.Fstatfs(int(h), &st) != nil {
		return false
	}
	switch int64(st.Type) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
		return true
	}
	return false
}

func (h fdHandle) stamp(name string) (skill.Stamp, error) {
	var st unix.Stat_t
	const flags = unix.AT_NO_AUTOMOUNT | unix.AT_SYMLINK_NOFOLLOW
	err := unix.Fstatat(int(h), name, &st, flags)
	if err == unix.EINTR || err == unix.EAGAIN {
		err = retry(func() error { return unix.Fstatat(int(h), name, &st, flags) })
	}
	return stampOfStat(&st), err
}

// readHandle is a folder that was opened for reading. The file owns the descriptor.
type readHandle struct {
	fdHandle
	file *os.File
}

func (h readHandle) close() { h.file.Close() }

// openat2 opens a name and maps a refusal: errThroughLink for a forbidden link,
// skill.ErrOutside for a step out of the folder.
func openat2(at int, name string, flags, resolve uint64) (int, error) {
	how := unix.OpenHow{Flags: flags | unix.O_CLOEXEC, Resolve: resolve}
	fd := -1
	err := retry(func() (err error) {
		fd, err = unix.Openat2(at, name, &how)
		return err
	})
	switch {
	case errors.Is(err, unix.ELOOP) && resolve&unix.RESOLVE_NO_SYMLINKS != 0:
		return -1, errThroughLink
	case errors.Is(err, unix.EXDEV):
		return -1, skill.ErrOutside
	}
	return fd, err
}

// retry repeats a call after a signal interrupted it. It also repeats openat2 after EAGAIN, which
// reports a rename meanwhile (openat2(2)).
func retry(call func() error) error {
	var err error
	for range 128 {
		err = call()
		if err != unix.EINTR && err != unix.EAGAIN {
			return err
		}
	}
	return err
}

func infoOfStat(name string, st *unix.Stat_t) *info {
	return &info{
		name:  path.Base(name),
		mode:  modeOf(st.Mode),
		stamp: stampOfStat(st),
	}
}

func stampOfStat(st *unix.Stat_t) skill.Stamp {
	return skill.Stamp{
		Size:  st.Size,
		MTime: unix.TimespecToNsec(st.Mtim),
		CTime: unix.TimespecToNsec(st.Ctim),
		Dev:   uint64(st.Dev), // 32 bits wide on some architectures
		Inode: st.Ino,
	}
}

func modeOf(m uint32) fs.FileMode {
	mode := fs.FileMode(m & 0o777)
	switch m & unix.S_IFMT {
	case unix.S_IFREG:
	case unix.S_IFDIR:
		mode |= fs.ModeDir
	case unix.S_IFLNK:
		mode |= fs.ModeSymlink
	case unix.S_IFIFO:
		mode |= fs.ModeNamedPipe
	case unix.S_IFSOCK:
		mode |= fs.ModeSocket
	case unix.S_IFCHR:
		mode |= fs.ModeDevice | fs.ModeCharDevice
	case unix.S_IFBLK:
		mode |= fs.ModeDevice
	default:
		mode |= fs.ModeIrregular
	}
	return mode
}
