package dir

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/skill"
)

// pickDoor prefers openat2 (Linux 5.6). Old kernels answer ENOSYS, sandboxes
// often EPERM, kernels that do not know a flag E2BIG or EINVAL.
var pickDoor = sync.OnceValue(func() door {
	fd, err := openat2(unix.AT_FDCWD, ".", unix.O_PATH|unix.O_DIRECTORY, beneath)
	if err != nil {
		return rootDoor{}
	}
	unix.Close(fd)
	return kernelDoor{}
})

// beneath keeps a lookup below its folder and away from links of either kind.
// No mount is crossed unasked by this; a mount is the administrator's doing.
const beneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_NO_SYMLINKS

// kernelDoor lets the kernel forbid links during the very lookup that opens, so
// that nothing can be swapped in between.
type kernelDoor struct{}

func (kernelDoor) folder(dir string, plain bool) (handle, error) {
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
		// One part, not "..", last link not followed: nowhere to be led to.
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

// open looks before it opens. Opening a device can have effects (a watchdog, a
// tape), and O_NONBLOCK does not prevent those; the look costs a microsecond or
// two, and only somebody who may create devices can win the race after it.
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
	// A regular file has no use for it, and os would ask the poller about it.
	unix.SetNonblock(fd, false)
	return &file{f: os.NewFile(uintptr(fd), name), info: infoOfStat(name, &st)}, nil
}

func (h fdHandle) list(name string) (handle, []fs.DirEntry, error) {
	fd, err := openat2(int(h), name, unix.O_RDONLY|unix.O_DIRECTORY, beneath)
	if err != nil {
		return nil, nil, err
	}
	d := os.NewFile(uintptr(fd), name)
	entries, err := d.ReadDir(-1)
	return readHandle{fdHandle(fd), d}, entries, err
}

// children reads the entries as the system writes them (getdents64(2)): most are
// files that a scan has no use for, and cost nothing here.
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
			return fdHandle(fd), r.kept, err
		}
		for raw := r.entries[:n]; len(raw) > direntName; {
			size := binary.NativeEndian.Uint16(raw[16:])
			kind, name := raw[18], raw[direntName:size]
			raw = raw[size:]
			name = name[:bytes.IndexByte(name, 0)]
			if kind == unix.DT_REG && len(name) != len(skill.MainFile) && !skill.MayBeNearMain(name) && !(r.texts && bytes.IndexByte(name, '.') < 0) || string(name) == "." || string(name) == ".." {
				continue
			}
			c := child{string(name), kind == unix.DT_DIR, kind == unix.DT_LNK, kind == unix.DT_REG}
			if kind == unix.DT_UNKNOWN {
				in, err := fdHandle(fd).lstat(c.name)
				if err != nil {
					continue // it has gone
				}
				c.folder, c.link = in.IsDir(), in.Mode()&fs.ModeSymlink != 0
			}
			r.add(c)
		}
	}
}

// direntName is where the name begins in an entry: behind the inode, the offset,
// the entry's size and its type.
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
		buf = make([]byte, max(before.Size+8<<10, 32<<10)) // nearly all fit
	}
	buf = buf[:cap(buf)]
	n := 0
	// An empty file is read too: one that the system makes up as it is read, or that
	// cannot be read, has the size 0.
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

// keepsTimes: those that are on this list. Others may as well, or may not: a server
// far away, or a program, decides.
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

func (h fdHandle) look(name string) (skill.Stamp, error) {
	var st unix.Stat_t
	const flags = unix.AT_NO_AUTOMOUNT | unix.AT_SYMLINK_NOFOLLOW
	err := unix.Fstatat(int(h), name, &st, flags)
	if err == unix.EINTR || err == unix.EAGAIN {
		err = retry(func() error { return unix.Fstatat(int(h), name, &st, flags) })
	}
	return stampOfStat(&st), err
}

// lookAt takes the stamp of an entry of a folder, without opening it and without
// passing a link.
func lookAt(f *folder, name string) (stamp skill.Stamp, err error) {
	l := f.lookFor(name)
	fd, err := l.open()
	if err != nil {
		return stamp, err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return stamp, err
	}
	return stampOfStat(&st), nil
}

// look is one prepared look: at an entry, and at what lies below it. What the
// kernel is given lies ready in it.
type look struct {
	base  string // a path that may have links in it, behind which there may be none; "" for none
	at    []byte // behind base, or absolute; ends with NUL
	how   unix.OpenHow
	stamp skill.Stamp
	below []below
}

// below is an entry of a folder that is looked at through it.
type below struct {
	name  []byte // ends with NUL
	stamp skill.Stamp
}

func (f *folder) lookFor(name string) *look {
	l := &look{how: unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC}}
	if !f.plain && f.base != f.alias {
		// The root's own path may have links in it, and nothing behind it.
		l.base, l.at, l.how.Resolve = f.base, cString(path.Join(f.sub, name)), beneath
	} else {
		l.at, l.how.Resolve = cString(f.at(name)), unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_NO_MAGICLINKS
	}
	return l
}

// cString is a name as the kernel takes it; checkName lets none pass with a NUL in it.
func cString(name string) []byte { return append([]byte(name), 0) }

func (l *look) open() (int, error) {
	base := unix.AT_FDCWD
	if l.base != "" {
		fd, err := openat2(unix.AT_FDCWD, l.base, unix.O_PATH|unix.O_DIRECTORY, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(fd)
		base = fd
	}
	for range 128 { // as retry
		// unix.Openat2 would copy the path each time. All that is pointed to is of the
		// heap, and the conversions are part of the call, so that it stays where it is.
		fd, _, errno := unix.Syscall6(unix.SYS_OPENAT2, uintptr(base), uintptr(unsafe.Pointer(&l.at[0])), uintptr(unsafe.Pointer(&l.how)), unix.SizeofOpenHow, 0, 0)
		switch errno {
		case 0:
			return int(fd), nil
		case unix.EINTR, unix.EAGAIN:
		default:
			return -1, errno
		}
	}
	return -1, unix.EAGAIN
}

// same makes the look: one lookup that no link can lead astray, and for each entry
// below one call more.
func (l *look) same() bool {
	fd, err := l.open()
	if err != nil {
		return false
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	same := err == nil && stampOfStat(&st) == l.stamp
	for i := 0; same && i < len(l.below); i++ {
		same = sameBelow(fd, &l.below[i])
	}
	unix.Close(fd)
	return same
}

// sameBelow looks at an entry through an open folder. A link on the way is followed.
func sameBelow(fd int, b *below) bool {
	stamp, ok := stampBelow(fd, b.name)
	return ok && stamp == b.stamp
}

func stampBelow(fd int, name []byte) (stamp skill.Stamp, ok bool) {
	var st unix.Stat_t
	for range 128 { // as retry
		// unix.Fstatat would copy the name each time.
		_, _, errno := unix.Syscall6(sysFstatat, uintptr(fd), uintptr(unsafe.Pointer(&name[0])), uintptr(unsafe.Pointer(&st)), unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, 0, 0)
		if errno != unix.EINTR && errno != unix.EAGAIN {
			return stampOfStat(&st), errno == 0
		}
	}
	return stamp, false
}

// looks are what several looks share: folders that were looked at after each
// request had arrived that is answered by them.
type looks struct {
	roots []openRoot // opened, and looked at
	seen  []seen     // looked at through one of these
}

type openRoot struct {
	fd   int // -1 where it could not be opened
	look *look
	now  skill.Stamp
}

type seen struct {
	fd  int // of the root
	now below
}

// The most of either that are kept: what is looked for is looked for in all of them.
const mostRoots, mostSeen = 8, 64

// Close forgets what was seen. What it was kept in is used again.
func (s *looks) Close() error {
	for i := range s.roots {
		if s.roots[i].fd >= 0 {
			unix.Close(s.roots[i].fd)
		}
	}
	clear(s.roots)
	clear(s.seen)
	s.roots, s.seen = s.roots[:0], s.seen[:0]
	return nil
}

// root opens the root that a look is at, and looks at it, once; nil where there are
// too many.
func (s *looks) root(l *look) *openRoot {
	for i := range s.roots {
		if o := &s.roots[i]; o.look.base == l.base && bytes.Equal(o.look.at, l.at) {
			return o
		}
	}
	if len(s.roots) == mostRoots {
		return nil
	}
	o := openRoot{fd: -1, look: l}
	if fd, err := l.open(); err == nil {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) == nil {
			o.fd, o.now = fd, stampOfStat(&st)
		} else {
			unix.Close(fd)
		}
	}
	s.roots = append(s.roots, o)
	return &s.roots[len(s.roots)-1]
}

// same looks at a folder through the root, once.
func (s *looks) same(fd int, b *below) bool {
	for i := range s.seen {
		if o := &s.seen[i]; o.fd == fd && bytes.Equal(o.now.name, b.name) {
			return o.now.stamp == b.stamp
		}
	}
	now, _ := stampBelow(fd, b.name) // the zero stamp is nothing's
	if len(s.seen) < mostSeen {
		s.seen = append(s.seen, seen{fd, below{b.name, now}})
	}
	return now == b.stamp
}

// way is how an entry is looked at through the root, which others are looked at
// through too: past the folders on the way, except its own.
//
// A folder that has its stamp still has had the entries that it had, at the moment
// when the root was looked at. So each folder on the way was in its place then, and
// none was a link. And an entry that has its stamp still has not been moved since
// that was taken: on the file systems where [lookHandle.keepsTimes], a rename
// changes the stamp of what is renamed, and one name more or less that of what has
// it. So it was in its place then too, whichever way leads to it now.
type way struct {
	root  *look
	past  []below // the upper ones first
	entry below
}

// wayTo prepares that, where the folders have stamps by which they will be known
// again; else it is nil. That they are no links is seen afterwards: by the look at
// the entry's whole path.
func (f *folder) wayTo(name string, l *look) *way {
	all := strings.Split(path.Join(f.sub, name), "/")
	if len(all) < 2 || len(all) > maxDepth {
		return nil
	}
	root := &folder{ground: f.ground, sub: ".", dev: f.dev}
	w := &way{root: root.lookFor("."), entry: below{cString(strings.Join(all, "/")), l.stamp}}
	now := time.Now()
	for i := range all[:len(all)-1] {
		sub := "."
		if i > 0 {
			sub = strings.Join(all[:i], "/")
		}
		stamp, err := lookAt(root, sub)
		if err != nil || stamp.Dev != f.dev || stamp.Racy(now) {
			return nil
		}
		if i == 0 {
			w.root.stamp = stamp
		} else {
			w.past = append(w.past, below{cString(sub), stamp})
		}
	}
	if !l.same() {
		return nil
	}
	return w
}

// same makes the look; where not all on the way is as it was, the answer is not known.
func (w *way) same(shared *looks) (same, known bool) {
	root := shared.root(w.root)
	if root == nil || root.fd < 0 || root.now != w.root.stamp {
		return false, false
	}
	for i := range w.past {
		if !shared.same(root.fd, &w.past[i]) {
			return false, false
		}
	}
	return sameBelow(root.fd, &w.entry), true
}

// sameOf prepares looks at entries of which the stamps are known.
//
// Where every folder down to an entry is among them, the skill's folder is opened
// once, and the others are looked at through it, the upper ones first. A link on the
// way could be followed there, and does not matter: a folder that has its stamp
// still has had the entries that it had, at the moment when the first was looked at;
// so each thing was in its place then, and has the stamp that it had.
//
// One entry alone is looked at by its [way], where others are too.
func sameOf(f *folder, names []string, stamps []skill.Stamp) func(*io.Closer) bool {
	known := map[string]bool{}
	for _, name := range names {
		known[name] = true
	}
	whole := len(names) > 1
	for _, name := range names {
		whole = whole && (name == "." || known[path.Dir(name)])
	}
	var all []*look
	var through *way // to the one entry
	if whole && known["."] {
		top := f.lookFor(".")
		order := make([]int, len(names))
		for i := range order {
			order[i] = i
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(strings.Count(names[a], "/"), strings.Count(names[b], "/")) })
		for _, i := range order {
			if names[i] == "." {
				top.stamp = stamps[i]
			} else {
				top.below = append(top.below, below{cString(names[i]), stamps[i]})
			}
		}
		all = []*look{top}
	} else {
		for i, name := range names {
			l := f.lookFor(name)
			l.stamp = stamps[i]
			all = append(all, l)
		}
		if len(all) == 1 {
			through = f.wayTo(names[0], all[0])
		}
	}
	return func(shared *io.Closer) bool {
		if shared != nil && through != nil {
			if *shared == nil {
				*shared = &looks{}
			}
			if s, ok := (*shared).(*looks); ok {
				if same, known := through.same(s); known {
					return same
				}
			}
		}
		for i := range all {
			if !all[i].same() {
				return false
			}
		}
		return true
	}
}

// readHandle is a folder that was opened for reading. The file owns the descriptor.
type readHandle struct {
	fdHandle
	file *os.File
}

func (h readHandle) close() { h.file.Close() }

// openat2 opens and names what refused: a link met where none is allowed is
// errThroughLink, a step out of the folder skill.ErrOutside.
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

// retry repeats a call that a signal interrupted, or that openat2 gave up
// because something was renamed meanwhile (EAGAIN, openat2(2)).
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
