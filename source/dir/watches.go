package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// Watches watches folders for all sources of a process through one watcher of the
// system. Linux grants a user 128 watchers by default (max_user_instances, inotify(7)),
// which the user's editor needs too. Sources that share a Watches share the bound on
// watched folders. A source that does not fit polls, and the others keep what they
// have. A Watches is open while a [Source.Watch] uses it, and holds nothing otherwise.
type Watches struct {
	mu        sync.Mutex
	fw        *fsnotify.Watcher // nil without followers
	followers map[*follower]bool
	spots     map[string]*spot // by name
	ids       map[identity]*spot
}

// A spot is one watched folder. The system knows a folder once, by the first name it
// was given. If the folder is mounted twice, some uses have another name.
type spot struct {
	name string
	id   identity
	uses []use // nearly always one
}

type use struct {
	by   *follower
	path string // the follower's name for the folder
}

// follower is one running Watch. The lock of the Watches guards its fields, except the
// channels.
type follower struct {
	dir     string // the root as the user wrote it
	root    string // its real path, as far as it exists
	missing bool
	links   map[string]bool // on the way to the root, by the real path of each
	beside  map[string]bool // the folders that are watched for such a link alone
	at      map[string]*spot
	lost    bool          // a watch was lost, which want must renew
	poked   chan struct{} // capacity 1
	failed  chan error    // capacity 1
}

// identity tells folders apart whatever their names. It is zero if the system gives
// none.
type identity struct{ dev, inode uint64 }

func identify(path string) identity {
	fi, err := os.Stat(path)
	if err != nil {
		return identity{}
	}
	stamp := infoOf(fi).stamp
	return identity{stamp.Dev, stamp.Inode}
}

// noRoom says that a source wants more folders than may still be watched.
type noRoom struct{ want, room int }

func (e noRoom) Error() string {
	return fmt.Sprintf("%d folders are more than the %d that may still be watched", e.want, e.room)
}

var errClosed = errors.New("the watch was closed")

// NewWatches makes a Watches for [Options]. It touches nothing yet.
func NewWatches() *Watches {
	w := &Watches{followers: map[*follower]bool{}}
	w.clear()
	return w
}

func (w *Watches) clear() {
	w.fw, w.spots, w.ids = nil, map[string]*spot{}, map[identity]*spot{}
}

func newFollower(dir string) *follower {
	return &follower{dir: dir, at: map[string]*spot{}, poked: make(chan struct{}, 1), failed: make(chan error, 1)}
}

func (f *follower) poke() {
	select {
	case f.poked <- struct{}{}:
	default:
	}
}

func (f *follower) fail(err error) {
	select {
	case f.failed <- err:
	default:
	}
}

// join adds a follower; the first one opens the watcher.
func (w *Watches) join(f *follower) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fw == nil {
		fw, err := fsnotify.NewWatcher()
		if err != nil {
			return err
		}
		w.fw = fw
		events, errs := drain(fw)
		go w.dispatch(fw, events, errs)
	}
	w.followers[f] = true
	return nil
}

// leave gives back what only this follower used; the last follower closes the watcher.
func (w *Watches) leave(f *follower) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.followers, f)
	if len(w.followers) == 0 && w.fw != nil {
		w.fw.Close()
		w.clear()
	}
	for path := range f.at {
		w.drop(f, path)
	}
}

// want makes a follower watch exactly dirs, all of them or none. It does without a
// folder that has gone or may not be read. changed reports that some were not watched
// yet, or have gone, so that changes to them since the scan went unseen.
func (w *Watches) want(f *follower, dirs []string) (changed bool, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f.lost = false
	if f.missing = len(dirs) == 0; f.missing {
		dirs = []string{f.nearest()}
	}
	dirs = f.withLinks(dirs)
	var unwatched []string
	for i, dir := range dirs {
		pause(context.Background(), i)
		if f.at[dir] == nil {
			unwatched = append(unwatched, dir)
		}
	}
	if len(f.at) > len(dirs)-len(unwatched) {
		w.dropOthers(f, dirs)
	}
	fresh := 0
	for i, dir := range unwatched {
		pause(context.Background(), i)
		if w.spots[dir] == nil {
			fresh++
		}
	}
	if room := maxWatches - len(w.spots); fresh > room {
		return false, noRoom{len(dirs), max(room, 0) + len(dirs) - fresh}
	}
	for i, dir := range unwatched {
		pause(context.Background(), i)
		new, err := w.add(f, dir)
		switch {
		case gone(err):
			changed = true
		case err != nil && !unwatchable(err):
			return false, err
		}
		changed = changed || new
	}
	return changed, nil
}

// has reports whether a follower still has all the watches that it wanted.
func (w *Watches) has(f *follower) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !f.lost
}

// dropOthers ends a follower's uses of all folders but these.
func (w *Watches) dropOthers(f *follower, dirs []string) {
	keep := make(map[string]bool, len(dirs))
	for i, dir := range dirs {
		pause(context.Background(), i)
		keep[dir] = true
	}
	i := 0
	for path := range f.at {
		i++
		pause(context.Background(), i)
		if !keep[path] {
			w.drop(f, path)
		}
	}
}

// withLinks adds the folders that hold the links on the way to the root. A change of
// such a link changes the root, and touches nothing in it.
func (f *follower) withLinks(dirs []string) []string {
	f.links, f.beside = map[string]bool{}, map[string]bool{}
	all := slices.Clone(dirs)
	for _, link := range linksTo(f.dir) {
		f.links[link] = true
		if dir := filepath.Dir(link); !slices.Contains(all, dir) {
			f.beside[dir] = true
			all = append(all, dir)
		}
	}
	return all
}

// nearest returns the nearest folder to the root that exists.
func (f *follower) nearest() string {
	f.root = realPath(f.dir)
	return nearest(f.root)
}

// add watches a folder for a follower, and reports whether that is new.
func (w *Watches) add(f *follower, path string) (bool, error) {
	if f.at[path] != nil {
		return false, nil
	}
	s, err := w.spot(path)
	if err != nil {
		return false, err
	}
	s.uses = append(s.uses, use{f, path})
	f.at[path] = s
	return true, nil
}

// gone reports whether an error says that there is no folder to watch at a path. A file
// or a link to nowhere may be there, or on the way.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// unwatchable reports whether an error concerns one folder, not the watcher.
func unwatchable(err error) bool { return gone(err) || errors.Is(err, fs.ErrPermission) }

// spot returns a watched folder, and starts to watch it if necessary.
func (w *Watches) spot(path string) (*spot, error) {
	if s := w.spots[path]; s != nil {
		return s, nil
	}
	if w.fw == nil {
		return nil, errClosed
	}
	id := identify(path)
	known := id != identity{}
	if s := w.ids[id]; known && s != nil && identify(s.name) == id {
		return s, nil
	}
	if err := w.fw.Add(path); err != nil {
		return nil, err
	}
	s := &spot{name: path, id: id}
	w.spots[path] = s
	if known {
		w.ids[id] = s
	}
	return s, nil
}

// drop ends one follower's use of a folder, and with the last use the watch.
func (w *Watches) drop(f *follower, path string) {
	s := f.at[path]
	delete(f.at, path)
	s.uses = slices.DeleteFunc(s.uses, func(u use) bool { return u == use{f, path} })
	if len(s.uses) > 0 || w.spots[s.name] != s {
		return
	}
	delete(w.spots, s.name)
	if w.ids[s.id] == s {
		delete(w.ids, s.id)
	}
	w.fw.Remove(s.name) // fails if the folder has gone, and its watch with it
}

// lose ends a watch that has become worthless, and pokes the followers that relied on
// it.
func (w *Watches) lose(s *spot) {
	// This is the same folder under the name it was moved to: the system ends a watch
	// for all its names at once.
	if moved := w.ids[s.id]; moved != nil && moved != s {
		delete(w.ids, s.id)
		w.lose(moved)
	}
	for _, u := range slices.Clone(s.uses) {
		w.drop(u.by, u.path)
		u.by.lost = true
		u.by.poke()
	}
}

// forget loses a folder that went away and everything below it. Another folder of that
// name would be a different one.
func (w *Watches) forget(name string) {
	s := w.spots[name]
	if s == nil {
		return
	}
	below := name + string(filepath.Separator)
	for n, s := range w.spots {
		if strings.HasPrefix(n, below) {
			w.lose(s)
		}
	}
	w.lose(s)
}

// nearest returns the nearest folder that exists, upwards from dir.
func nearest(dir string) string {
	for {
		if fi, err := os.Stat(dir); err == nil && fi.IsDir() {
			return dir
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return dir
		}
		dir = parent
	}
}
