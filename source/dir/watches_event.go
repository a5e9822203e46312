package dir

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/fsnotify/fsnotify"
)

// drain takes everything from the watcher at once, since the watcher must never wait
// for us. On some systems it answers Add from the goroutine that sends. Events that do
// not fit into the queue count as an overflow.
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
		troubles := fw.Errors
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
			case err, ok := <-troubles:
				if !ok {
					troubles = nil
					continue
				}
				report(err)
			}
		}
	}()
	return events, errs
}

func (w *Watches) dispatch(fw *fsnotify.Watcher, events <-chan fsnotify.Event, errs <-chan error) {
	for {
		select {
		case e, ok := <-events:
			if !ok {
				w.trouble(fw, errClosed)
				return
			}
			w.event(fw, e)
		case err := <-errs:
			w.trouble(fw, err)
		}
	}
}

// event passes an event on to the followers that watch the folder it happened in or to.
// It keeps the watches in step.
func (w *Watches) event(fw *fsnotify.Watcher, e fsnotify.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.fw != fw:
		return
	case e.Name == "":
		// A watch has ended, by our call or by an unmount: the event does not say
		// which.
		for f := range w.followers {
			if !f.missing {
				f.poke()
			}
		}
		return
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	if s := w.spots[filepath.Dir(e.Name)]; s != nil {
		for _, u := range slices.Clone(s.uses) {
			w.tell(u.by, filepath.Join(u.path, filepath.Base(e.Name)), e.Op)
		}
	}
	if s := w.spots[e.Name]; s != nil {
		for _, u := range slices.Clone(s.uses) {
			w.tell(u.by, u.path, e.Op)
		}
	}
}

// tell pokes a follower if an event can matter to it. It adds new folders to the watch
// before the poke, so that changes during the scan are seen.
func (w *Watches) tell(f *follower, name string, op fsnotify.Op) {
	switch {
	case f.links[name], f.beside[name]:
		f.poke()
		return
	case f.beside[filepath.Dir(name)]:
		return // something else beside a link
	}
	// The root may have appeared after the scan that missed it.
	missing := f.missing && (name == f.root || !within(f.root, name))
	if missing {
		if !within(name, f.root) {
			return // something else beside the place of a missing root
		}
	} else if base := filepath.Base(name); base == ".git" || base == "node_modules" {
		return
	}
	var err error
	switch {
	case !op.Has(fsnotify.Create) || len(w.spots) >= maxWatches:
		// The next scan will tell whether all still fit.
	case missing:
		_, err = w.add(f, f.nearest())
	default:
		if fi, statErr := os.Lstat(name); statErr == nil && fi.IsDir() {
			_, err = w.add(f, name)
		}
	}
	if err != nil && !unwatchable(err) {
		f.fail(err)
	}
	f.poke()
}

// trouble handles an error of the watcher. Lost events may concern folders that have
// been replaced.
func (w *Watches) trouble(fw *fsnotify.Watcher, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fw != fw {
		return
	}
	if !passing(err) {
		fw.Close()
		w.clear()
		for f := range w.followers {
			f.at = map[string]*spot{}
			f.fail(err)
		}
		return
	}
	for name, s := range w.spots {
		// Adding again keeps a watch that lives.
		if identify(name) != s.id || fw.Add(name) != nil {
			w.lose(s)
		}
	}
	for f := range w.followers {
		f.poke()
	}
}

// passing reports whether the watcher works on after an error: the queue overflowed, or
// a watched folder went away. EINVAL means that the folder was moved, then removed, and
// its watch with it (inotify_rm_watch(2)).
func passing(err error) bool {
	return errors.Is(err, fsnotify.ErrEventOverflow) || errors.Is(err, syscall.EINVAL) || unwatchable(err)
}
