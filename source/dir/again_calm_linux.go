package dir

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// A look that opens what it looks at costs twice as much as one by path alone, which
// would follow a link that lies on the way by now. For a link to come there, the
// folder in its place must go, and the system tells of that: of each move of a folder
// that is watched, before the call that moves it returns. It does not tell of every
// change to a file (not of those through a mapping, or by another name), and need
// not: files are looked at.
//
// So where a path was looked at while every folder on it was watched, and nothing
// was told of since, a look by path says the same: at the moment when nothing had
// been told of, each folder on the way was in its place; and a file that has its stamp
// still has had it, and its name, since it was taken.

const (
	// mostCalm bounds the folders that are watched: those of as many answers as are
	// kept at once. The system grants a user 8,192 and more.
	mostCalm = 1024
	// calmEvery is how soon after one calm the next may begin: whoever moves folders
	// without end has looks made as if there were none.
	calmEvery = time.Second
	// calmLasts is how long one goes on that watches all that it may, of which
	// some is not asked for any more.
	calmLasts = time.Minute
)

// timeZero is where this package's time begins, which no setting of the clock moves.
var timeZero = time.Now()

// calm is a time in which no folder that it watches was moved. It ends with the first
// one that is, or that goes; what relies on it is then looked at the long way.
type calm struct {
	queue int // of inotify(7). It is never read, so that what it tells of stays told.
	begun time.Time
	over  atomic.Bool

	mu     sync.Mutex // nobody waits for it: its holder may wait for a disk
	closed bool
	known  map[string]watchedFolder
	failed map[string]time.Time // when those that cannot be watched were last tried
}

// watchedFolder is the folder that is watched under a name; the zero value is one that cannot
// be.
type watchedFolder struct{ dev, ino uint64 }

// calms has one calm after the other, for the whole process: the system grants a
// user as few as 128 queues.
var calms struct {
	mu   sync.Mutex
	last *calm
	next time.Time // when there may be another one
}

// calmNow is the calm that there is, or a new one; nil where there can be none yet.
func calmNow() *calm {
	if !calms.mu.TryLock() {
		return nil // somebody else is at it
	}
	defer calms.mu.Unlock()
	if c := calms.last; c != nil && c.lasts() {
		return c
	}
	calms.last = nil
	now := time.Now()
	if now.Before(calms.next) {
		return nil
	}
	calms.next = now.Add(calmEvery)
	queue, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil
	}
	calms.last = &calm{queue: queue, begun: now, known: map[string]watchedFolder{}, failed: map[string]time.Time{}}
	return calms.last
}

// lasts reports whether nothing was told of by now.
func (c *calm) lasts() bool {
	if c.over.Load() {
		return false
	}
	waiting, err := unix.IoctlGetInt(c.queue, unix.TIOCINQ)
	if err != nil || waiting != 0 {
		c.end()
	}
	// Where another one has ended it meanwhile, that may have been another queue.
	return !c.over.Load()
}

// end ends it. Who holds mu meanwhile closes the queue when it is done.
func (c *calm) end() {
	c.over.Store(true)
	c.tidy()
}

// tidy closes the queue of one that is over, unless somebody works with it.
func (c *calm) tidy() {
	if !c.over.Load() || !c.mu.TryLock() {
		return
	}
	defer c.mu.Unlock()
	if !c.closed {
		c.closed, c.known, c.failed = true, nil, nil
		unix.Close(c.queue)
	}
}

// covers has every folder above a path watched, and reports whether each was seen in
// its place since. The path is absolute and ends with NUL.
func (c *calm) covers(at []byte) bool {
	if !c.mu.TryLock() {
		return false // somebody else is at it
	}
	defer c.tidy()
	defer c.mu.Unlock()
	for i := 1; i < len(at); i++ {
		if at[i] == '/' && !c.coversFolder(string(at[:i])) {
			return false
		}
	}
	return true
}

// coversFolder is covers of one folder below such as are. The caller holds mu.
func (c *calm) coversFolder(name string) bool {
	if c.over.Load() {
		return false
	}
	w, known := c.known[name]
	if !known || w == (watchedFolder{}) && time.Since(c.failed[name]) > calmEvery {
		// What lay on the way just then may have gone.
		if known || len(c.known) < mostCalm {
			if w = c.watch(name); w == (watchedFolder{}) {
				c.failed[name] = time.Now()
			}
			c.known[name] = w
		}
		known = w != watchedFolder{}
	} else if known = w != (watchedFolder{}); known {
		// A folder that somebody has open can be deleted, and nothing is told of that
		// before they close it. It was empty then, so that nothing which relies on the calm
		// is in it; a new one of its name is another folder.
		var now unix.Stat_t
		if err := unix.Fstatat(unix.AT_FDCWD, name, &now, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT); err != nil || w != watchedOf(&now) {
			c.over.Store(true)
			return false
		}
	}
	if !known && time.Since(c.begun) > calmLasts {
		c.over.Store(true) // the next one has room, and tries again
	}
	return known
}

func watchedOf(s *unix.Stat_t) watchedFolder { return watchedFolder{uint64(s.Dev), s.Ino} }

// watch begins to watch a folder that was in its place afterwards, on a file system of
// which this machine hears every move. The folders above it are watched. The caller
// holds mu.
func (c *calm) watch(name string) watchedFolder {
	const flags, resolve = unix.O_PATH | unix.O_DIRECTORY, unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS
	var before, after unix.Stat_t
	fd, err := openat2(unix.AT_FDCWD, name, flags, resolve)
	if err != nil {
		return watchedFolder{}
	}
	defer unix.Close(fd)
	if !fdHandle(fd).keepsTimes() || unix.Fstat(fd, &before) != nil {
		return watchedFolder{}
	}
	// By its descriptor: it is this folder whatever the name leads to by now.
	if _, err := unix.InotifyAddWatch(c.queue, "/proc/self/fd/"+strconv.Itoa(fd), unix.IN_MOVE_SELF|unix.IN_ONLYDIR); err != nil {
		return watchedFolder{}
	}
	now, err := openat2(unix.AT_FDCWD, name, flags, resolve)
	if err != nil {
		return watchedFolder{}
	}
	defer unix.Close(now)
	if unix.Fstat(now, &after) != nil || watchedOf(&before) != watchedOf(&after) {
		return watchedFolder{}
	}
	return watchedOf(&after)
}
