// Package watch notices changes in the folders of roots, through one watcher of the system.
package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// DefaultMax bounds the folders that the roots of one [Watcher] watch together. Large roots then
// leave enough watches for the user's editor. Linux grants a user at least 8,192, and today about a
// million (max_user_watches, inotify(7)). kqueue uses a descriptor for every file in a watched
// folder, and macOS gives a process 10,240.
var DefaultMax = map[bool]int{true: 32768, false: 256}[runtime.GOOS == "linux" || runtime.GOOS == "windows"]

// Watcher watches the folders of several roots through one watcher of the system. Linux grants a
// user 128 such watchers by default (max_user_instances, inotify(7)), and the user's editor needs
// some of them. The roots share the bound on watched folders. A root that does not fit gets an
// error, and the others keep their watches. The system's watcher is open while there are roots.
type Watcher struct {
	max int

	mu      sync.Mutex
	fw      *fsnotify.Watcher // nil without roots
	roots   map[*Root]bool
	watched map[string]*folder // by name
	ids     map[identity]*folder
}

// folder is one watched folder. The system watches a folder only under the first name that it was
// given. If the folder is mounted twice, some roots use a different name.
type folder struct {
	name string
	id   identity
	uses []use // nearly always one
}

type use struct {
	by   *Root
	path string // the root's name for the folder
}

// Root is the watch of one root: the folders that its last scan visited, or the place at
// which a missing root may appear. The lock of the Watcher guards its fields, except the
// channels.
type Root struct {
	w       *Watcher
	dir     string // as the user wrote it
	root    string // its real path, as far as it exists
	missing bool
	links   map[string]bool // links on the way to the root, by their real paths
	beside  map[string]bool // folders that are watched only because they contain such a link
	at      map[string]*folder
	lost    bool          // a watch was lost, which Set must renew
	poked   chan struct{} // capacity 1
	failed  chan error    // capacity 1
}

// identity identifies a folder independently of its names. It is zero if the system provides none.
type identity struct{ dev, inode uint64 }

// FullError reports that a root needs more folders than may still be watched.
type FullError struct{ Folders, Room int }

// Error returns a text with the number of folders.
func (e FullError) Error() string {
	return fmt.Sprintf("%d folders are more than the %d that may still be watched", e.Folders, e.Room)
}

var errClosed = errors.New("the watch was closed")

// New returns a Watcher that watches at most max folders. It opens nothing yet.
func New(max int) *Watcher {
	w := &Watcher{max: max, roots: map[*Root]bool{}}
	w.clear()
	return w
}

// Watched returns the number of watched folders, and the number of their uses by roots.
func (w *Watcher) Watched() (folders, uses int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.watched {
		uses += len(s.uses)
	}
	return len(w.watched), uses
}

func (w *Watcher) clear() {
	w.fw, w.watched, w.ids = nil, map[string]*folder{}, map[identity]*folder{}
}

func (r *Root) poke() {
	select {
	case r.poked <- struct{}{}:
	default:
	}
}

func (r *Root) fail(err error) {
	select {
	case r.failed <- err:
	default:
	}
}

// Join adds a root by the path that the user wrote. The first root opens the system's
// watcher.
func (w *Watcher) Join(dir string) (*Root, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fw == nil {
		fw, err := fsnotify.NewWatcher()
		if err != nil {
			return nil, err
		}
		w.fw = fw
		events, errs := drain(fw)
		go w.dispatch(fw, events, errs)
	}
	return w.add(dir), nil
}

func (w *Watcher) add(dir string) *Root {
	r := &Root{w: w, dir: dir, at: map[string]*folder{}, poked: make(chan struct{}, 1), failed: make(chan error, 1)}
	w.roots[r] = true
	return r
}

// Changed returns a channel of capacity 1 that receives when something in the root may
// have changed.
func (r *Root) Changed() <-chan struct{} { return r.poked }

// Failed returns a channel that receives the error that ends the watch.
func (r *Root) Failed() <-chan error { return r.failed }

// Fits returns a [FullError] if a root with that many folders can never be watched.
func (r *Root) Fits(folders int) error {
	if folders > r.w.max {
		return FullError{folders, r.w.max}
	}
	return nil
}

// Leave ends the watches that only this root used. When the last root leaves, the system's watcher
// is closed.
func (r *Root) Leave() {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.roots, r)
	if len(w.roots) == 0 && w.fw != nil {
		w.fw.Close()
		w.clear()
	}
	for path := range r.at {
		w.drop(r, path)
	}
}

// Set makes the root watch exactly dirs, all of them or none. It skips a folder that is gone or may
// not be read. If dirs is empty, the root is missing, and Set watches the place at which it may
// appear. changed reports whether some folders are newly watched or have gone. Changes in them
// since the scan were not seen.
func (r *Root) Set(dirs []string) (changed bool, err error) {
	w := r.w
	w.mu.Lock()
	defer w.mu.Unlock()
	r.lost = false
	if r.missing = len(dirs) == 0; r.missing {
		dirs = []string{r.nearest()}
	}
	dirs = r.withLinks(dirs)
	var unwatched []string
	for i, dir := range dirs {
		pause(i)
		if r.at[dir] == nil {
			unwatched = append(unwatched, dir)
		}
	}
	if len(r.at) > len(dirs)-len(unwatched) {
		w.dropOthers(r, dirs)
	}
	fresh := 0
	for i, dir := range unwatched {
		pause(i)
		if w.watched[dir] == nil {
			fresh++
		}
	}
	if room := w.max - len(w.watched); fresh > room {
		return false, FullError{len(dirs), max(room, 0) + len(dirs) - fresh}
	}
	for i, dir := range unwatched {
		pause(i)
		new, err := w.use(r, dir)
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

// Intact reports whether the root still has all the watches of the last Set.
func (r *Root) Intact() bool {
	r.w.mu.Lock()
	defer r.w.mu.Unlock()
	return !r.lost
}

// dropOthers ends a root's uses of all folders except the given ones.
func (w *Watcher) dropOthers(r *Root, dirs []string) {
	keep := make(map[string]bool, len(dirs))
	for i, dir := range dirs {
		pause(i)
		keep[dir] = true
	}
	i := 0
	for path := range r.at {
		i++
		pause(i)
		if !keep[path] {
			w.drop(r, path)
		}
	}
}

// withLinks adds the folders that contain the links on the way to the root. When such a link
// changes, the root changes, although none of its files does.
func (r *Root) withLinks(dirs []string) []string {
	r.links, r.beside = map[string]bool{}, map[string]bool{}
	all := slices.Clip(dirs) // nearly always the result
	for _, link := range realpath.Links(r.dir) {
		r.links[link] = true
		if dir := filepath.Dir(link); !slices.Contains(all, dir) {
			r.beside[dir] = true
			all = append(all, dir)
		}
	}
	return all
}

// nearest returns the nearest existing folder on the path to the root.
func (r *Root) nearest() string {
	r.root = realpath.Of(r.dir)
	return nearest(r.root)
}

// use watches a folder for a root, and reports whether that is new.
func (w *Watcher) use(r *Root, path string) (bool, error) {
	if r.at[path] != nil {
		return false, nil
	}
	s, err := w.folder(path)
	if err != nil {
		return false, err
	}
	s.uses = append(s.uses, use{r, path})
	r.at[path] = s
	return true, nil
}

// gone reports whether an error means that there is no folder to watch at a path. Instead, there
// may be a file or a link to nowhere, at the path or on the way.
func gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ELOOP)
}

// unwatchable reports whether an error concerns one folder, not the watcher.
func unwatchable(err error) bool { return gone(err) || errors.Is(err, fs.ErrPermission) }

// folder returns a watched folder, and starts to watch it if necessary.
func (w *Watcher) folder(path string) (*folder, error) {
	if s := w.watched[path]; s != nil {
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
	s := &folder{name: path, id: id}
	w.watched[path] = s
	if known {
		w.ids[id] = s
	}
	return s, nil
}

// drop ends one root's use of a folder. With the last use, it also ends the watch.
func (w *Watcher) drop(r *Root, path string) {
	s := r.at[path]
	delete(r.at, path)
	s.uses = slices.DeleteFunc(s.uses, func(u use) bool { return u == use{r, path} })
	if len(s.uses) > 0 || w.watched[s.name] != s {
		return
	}
	delete(w.watched, s.name)
	if w.ids[s.id] == s {
		delete(w.ids, s.id)
	}
	w.fw.Remove(s.name) // fails if the folder has gone, and its watch with it
}

// lose ends a watch that no longer works, and notifies the roots that relied on it.
func (w *Watcher) lose(s *folder) {
	// moved is the same folder under its new name. The system ends the watch of a folder for all of
	// its names together.
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

// forget ends the watches of a folder that went away and of everything below it. A new folder of
// that name would be a different one.
func (w *Watcher) forget(name string) {
	s := w.watched[name]
	if s == nil {
		return
	}
	below := name + string(filepath.Separator)
	for n, s := range w.watched {
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

// pause yields the processor now and then, since system calls are too short for the
// scheduler to preempt them.
func pause(i int) {
	if i%32 == 0 {
		runtime.Gosched()
	}
}
