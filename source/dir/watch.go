package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/fsnotify/fsnotify"
)

// pollEvery is how often the root is looked at when it cannot be watched:
// contract 002 asks for a refresh at least every 30 s. A variable for the tests.
var pollEvery = 30 * time.Second

// maxWatches bounds the folders that one source watches, so that a large root
// does not use up what the user's editor needs. Linux grants a user at least
// 8,192 and today about a million (max_user_watches, inotify(7)); kqueue
// holds a descriptor for every file in a watched folder, and macOS gives a
// process 10,240. A variable for the tests.
var maxWatches = map[bool]int{true: 32768, false: 256}[runtime.GOOS == "linux" || runtime.GOOS == "windows"]

type watchState struct {
	on     bool
	reason string
}

// Watching reports whether the system tells this source of changes, and if not,
// why it polls.
func (s *Source) Watching() (on bool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.watch.on, s.watch.reason
}

func (s *Source) setWatch(on bool, reason string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watch = watchState{on, reason}
}

// Watch calls poke whenever something below the root may have changed, until ctx
// ends. A poke is a hint: it comes once an event, from this goroutine, and poke
// must not block. Watched are the folders that the last scan visited, so
// whoever is poked should scan. Where watching fails, Watch polls; see
// [Source.Watching]. Only one Watch may run at a time.
func (s *Source) Watch(ctx context.Context, poke func()) {
	reason := s.follow(ctx, poke)
	if ctx.Err() == nil {
		s.setWatch(false, reason)
		poke() // what happened while the watch broke down went unseen
		s.poll(ctx, poke)
	}
	s.setWatch(false, "not started")
}

func (s *Source) poll(ctx context.Context, poke func()) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			poke()
		}
	}
}

// follow watches until ctx ends or watching fails, and says why it failed.
func (s *Source) follow(ctx context.Context, poke func()) string {
	fw, err := fsnotify.NewWatcher()
	if err != nil {
		return watchFailure(err)
	}
	defer fw.Close()
	w := &watcher{fw: fw, source: s, watched: map[string]bool{}}
	for {
		added, err := w.sync()
		if err != nil {
			return watchFailure(err)
		}
		s.setWatch(true, "")
		if added {
			poke() // what was written before the watch was set went unseen
		}
		if err := w.wait(ctx, poke); err != nil {
			return watchFailure(err)
		}
		if ctx.Err() != nil {
			return ""
		}
	}
}

type watcher struct {
	fw      *fsnotify.Watcher
	source  *Source
	watched map[string]bool
}

// sync watches exactly what the last scan visited, or, while the root is
// missing, the nearest folder above it that exists.
func (w *watcher) sync() (added bool, err error) {
	s := w.source
	s.mu.Lock()
	want := s.folders
	s.mu.Unlock()
	if len(want) == 0 {
		want = []string{nearest(s.opt.Root.Dir)}
	}
	if len(want) > maxWatches {
		return false, fmt.Errorf("%d folders are more than the %d that are watched", len(want), maxWatches)
	}
	keep := make(map[string]bool, len(want))
	for _, dir := range want {
		keep[dir] = true
		new, err := w.add(dir)
		if err != nil {
			return false, err
		}
		added = added || new
	}
	for dir := range w.watched {
		if !keep[dir] {
			w.drop(dir)
		}
	}
	return added, nil
}

// add watches a folder, and reports whether it was not watched yet. One that
// has gone or may not be read is left to the next scan.
func (w *watcher) add(dir string) (bool, error) {
	if w.watched[dir] {
		return false, nil
	}
	err := w.fw.Add(dir)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	w.watched[dir] = true
	return true, nil
}

func (w *watcher) drop(dir string) {
	delete(w.watched, dir)
	w.fw.Remove(dir) // fails where the folder has gone, and its watch with it
}

// wait passes events on until a scan has finished.
func (w *watcher) wait(ctx context.Context, poke func()) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-w.source.scanned:
			return nil
		case e, ok := <-w.fw.Events:
			if !ok {
				return errors.New("the watch was closed")
			}
			if relevant, err := w.event(e); err != nil {
				return err
			} else if relevant {
				poke()
			}
		case err := <-w.fw.Errors:
			if !errors.Is(err, fsnotify.ErrEventOverflow) {
				return err
			}
			poke() // events were lost
		}
	}
}

// event keeps the watches in step with what happened, and reports whether it can
// matter to a scan.
func (w *watcher) event(e fsnotify.Event) (bool, error) {
	switch filepath.Base(e.Name) {
	case ".git", "node_modules":
		return false, nil
	}
	s := w.source
	s.mu.Lock()
	missing := len(s.folders) == 0
	s.mu.Unlock()
	if missing && !within(e.Name, s.opt.Root.Dir) {
		return false, nil // something else beside the place of a missing root
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	if e.Has(fsnotify.Create) {
		if missing {
			_, err := w.add(nearest(s.opt.Root.Dir))
			return true, err
		}
		// Before the scan, so that what is written meanwhile is seen.
		if fi, err := os.Lstat(e.Name); err == nil && fi.IsDir() && len(w.watched) < maxWatches {
			_, err := w.add(e.Name)
			return true, err
		}
	}
	return true, nil
}

// forget drops a folder that went away and all below it: another folder of that
// name would be another one.
func (w *watcher) forget(dir string) {
	if !w.watched[dir] {
		return
	}
	below := dir + string(filepath.Separator)
	for d := range w.watched {
		if d == dir || strings.HasPrefix(d, below) {
			w.drop(d)
		}
	}
}

// nearest is the nearest folder that exists, upwards from dir.
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

// watchFailure says in words why watching is not possible.
func watchFailure(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return "the system has no watches left: " + err.Error()
	}
	return err.Error()
}
