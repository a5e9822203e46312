package dir

import (
	"bytes"
	"cmp"
	"io"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/knack-dev/knack/skill"
)

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

	paths []below              // all of these by their whole paths, where they are few
	calm  atomic.Pointer[calm] // in which it was made the long way; nil: none
	wait  atomic.Int64         // when it may be looked for again, in nanoseconds since timeZero
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

// same makes the look. Where it is calm that is one call for each entry, and nothing
// is opened.
func (l *look) same() bool {
	c := l.calmed()
	if c == nil || !c.lasts() {
		return l.settle(l.cover())
	}
	for i := range l.paths {
		if !sameBelow(unix.AT_FDCWD, &l.paths[i]) {
			return false
		}
	}
	return true
}

// fewPaths is how many entries are looked at by their whole paths: of more it costs
// less to open the folder that all are in.
const fewPaths = 4

// byPath prepares that, where no part of the way may be a link.
func (l *look) byPath() {
	if l.base != "" || 1+len(l.below) > fewPaths {
		return
	}
	l.paths = []below{{l.at, l.stamp}}
	for _, b := range l.below {
		at := append(bytes.TrimSuffix(bytes.Clone(l.at), []byte{0}), '/')
		l.paths = append(l.paths, below{append(at, b.name...), b.stamp})
	}
}

// calmed is the calm in which the look was made, unless it is known to be over.
func (l *look) calmed() *calm {
	if c := l.calm.Load(); c != nil && !c.over.Load() {
		return c
	}
	return nil
}

// settle makes the look the long way, and relies on a calm from then on.
func (l *look) settle(c *calm) bool {
	same := l.long()
	if same && c != nil {
		l.calm.Store(c)
	}
	return same
}

// cover is the calm that watches the folders above, or nil.
func (l *look) cover() *calm {
	if l.paths == nil {
		return nil
	}
	now := int64(time.Since(timeZero))
	if now < l.wait.Load() {
		return nil
	}
	if c := calmNow(); c != nil && c.covers(l.at) {
		return c
	}
	l.wait.Store(now + int64(calmEvery))
	return nil
}

// long makes one lookup that no link can lead astray, and for each entry below one
// call more.
func (l *look) long() bool {
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
	roots  []openRoot // opened, and looked at
	seen   []seen     // looked at through one of these
	calm   *calm      // that was asked for
	lasted bool       // and what it said
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
	s.roots, s.seen, s.calm = s.roots[:0], s.seen[:0], nil
	return nil
}

// lasts asks a calm, once. Looks that come after that rely on it: each folder was in
// its place at that moment.
func (s *looks) lasts(c *calm) bool {
	if s.calm != c {
		s.calm, s.lasted = c, c.lasts()
	}
	return s.lasted
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
	root := &folder{ground: f.ground, sub: "."}
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

// same makes the look, which goes the whole way by itself too; where not all on the
// way is as it was, the answer is not known.
func (w *way) same(whole *look, shared *looks) (same, known bool) {
	root := shared.root(w.root)
	if root == nil || root.fd < 0 {
		return false, false
	}
	if c := whole.calmed(); c != nil && shared.lasts(c) {
		return sameBelow(root.fd, &w.entry), true
	}
	if c := whole.cover(); c != nil {
		return whole.settle(c), true
	}
	if root.now != w.root.stamp {
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
		top.byPath()
		all = []*look{top}
	} else {
		for i, name := range names {
			l := f.lookFor(name)
			l.stamp = stamps[i]
			l.byPath()
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
				if same, known := through.same(all[0], s); known {
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
