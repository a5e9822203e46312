package watch

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/knack-dev/knack/internal/base/realpath"
)

// drain receives events from the system's watcher without delay, because the watcher must never
// wait for this package. On some systems, the goroutine that sends events also answers Add. If the
// queue is full, further events count as an overflow.
func drain(fw *fsnotify.Watcher) (<-chan fsnotify.Event, <-chan error) {
	events, errs := make(chan fsnotify.Event, 4096), make(chan error, 16)
	report := func(err error) {
		select {
		case errs <- err:
		default:
		}
	}
	go func() {
		defer close(events)
		failures := fw.Errors
		for {
			select {
			case e, ok := <-fw.Events:
				if !ok {
					return
				}
				select {
				case events <- e:
				default:
					report(fsnotify.ErrEventOverflow)
				}
			case err, ok := <-failures:
				if !ok {
					failures = nil
					continue
				}
				report(err)
			}
		}
	}()
	return events, errs
}

func (w *Watcher) dispatch(fw *fsnotify.Watcher, events <-chan fsnotify.Event, errs <-chan error) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				w.handle(fw, errClosed)
				return
			}
			w.event(fw, e)
		case err := <-errs:
			w.handle(fw, err)
		}
	}
}

// event updates the watches after an event, and notifies the roots that watch the file or folder of
// the event, or its parent.
func (w *Watcher) event(fw *fsnotify.Watcher, e fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.fw != fw:
		return
	case e.Name == "":
		// A watch has ended, because this package ended it or because of an unmount. The event does
		// not tell which.
		for r := range w.roots {
			if !r.missing {
				r.poke()
			}
		}
		return
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	if s := w.watched[filepath.Dir(e.Name)]; s != nil {
		for _, u := range slices.Clone(s.uses) {
			w.notify(u.by, filepath.Join(u.path, filepath.Base(e.Name)), e.Op)
		}
	}
	if s := w.watched[e.Name]; s != nil {
		for _, u := range slices.Clone(s.uses) {
			w.notify(u.by, u.path, e.Op)
		}
	}
}

// notify pokes a root if an event can matter to it. It first watches new folders, so changes during
// the next scan are seen.
func (w *Watcher) notify(r *Root, name string, op fsnotify.Op) {
	switch {
	case r.links[name], r.beside[name]:
		r.poke()
		return
	case r.beside[filepath.Dir(name)]:
		return // a different entry beside a link
	}
	// The root may have appeared after the scan that missed it.
	missing := r.missing && (name == r.root || !realpath.Within(r.root, name))
	if missing {
		if !realpath.Within(name, r.root) {
			return // a different entry beside a missing root's place
		}
	} else if base := filepath.Base(name); base == ".git" || base == "node_modules" {
		return
	}
	var err error
	switch {
	case !op.Has(fsnotify.Create) || len(w.watched) >= w.max:
		// The next scan decides whether all folders still fit.
	case missing:
		_, err = w.use(r, r.nearest())
	default:
		if fi, statErr := os.Lstat(name); statErr == nil && fi.IsDir() {
			_, err = w.use(r, name)
		}
	}
	if err != nil && !unwatchable(err) {
		r.fail(err)
	}
	r.poke()
}

// Fail is for tests: it handles err as an error of the system's watcher.
func (w *Watcher) Fail(err error) {
	w.mu.Lock()
	fw := w.fw
	w.mu.Unlock()
	w.handle(fw, err)
}

// handle handles an error of the watcher. Lost events may have reported that folders were replaced,
// so it checks all watches.
func (w *Watcher) handle(fw *fsnotify.Watcher, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fw != fw {
		return
	}
	if !survives(err) {
		fw.Close()
		w.clear()
		for r := range w.roots {
			r.at = map[string]*folder{}
			r.fail(err)
		}
		return
	}
	for name, s := range w.watched {
		// Adding a folder again keeps a live watch.
		if identify(name) != s.id || fw.Add(name) != nil {
			w.lose(s)
		}
	}
	for r := range w.roots {
		r.poke()
	}
}

// survives reports whether the watcher still works after an error. It does if the queue overflowed,
// or if a watched folder went away. EINVAL means that the folder was moved and then removed,
// together with its watch (inotify_rm_watch(2)).
func survives(err error) bool {
	return errors.Is(err, fsnotify.ErrEventOverflow) || errors.Is(err, syscall.EINVAL) || unwatchable(err)
}
