package dir

import (
	"context"
	"errors"
	"syscall"
	"time"

	"github.com/knack-dev/knack/source/dir/internal/watch"
)

// pollInterval is the interval of scans if the root cannot be watched. Contract 002 requires a
// refresh at least every 30 s. Tests change it.
var pollInterval = 30 * time.Second

// Watches watches folders for all sources of a process; see [Options]. Sources that share a Watches
// also share its bound on watched folders. The bound is 32,768 on Linux and Windows, else 256. A
// source whose folders do not fit polls.
type Watches = watch.Watcher

// NewWatches makes a Watches. It uses resources of the system only while a [Source.Watch] uses it.
func NewWatches() *Watches { return watch.New(watch.DefaultMax) }

type watchState struct {
	on     bool
	reason string
}

// Watching reports whether the system notifies this source of changes and, if not, why the source
// polls.
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

// Watch calls poke whenever something below the root may have changed, until ctx ends. A poke is a
// hint: it represents one event or several, comes from this goroutine, and must not block. Watch
// watches the folders that the last scan visited, so a poke should lead to a scan. If watching
// fails, Watch polls; see [Source.Watching]. Only one Watch may run at a time. Watch begins after
// the first scan. Earlier, the disk might not answer, and a call that waits for it would delay the
// watches of all roots.
func (s *Source) Watch(ctx context.Context, poke func()) {
	select {
	case <-s.first:
	case <-ctx.Done():
	}
	for ctx.Err() == nil {
		err := s.follow(ctx, poke)
		if ctx.Err() != nil {
			break
		}
		s.setWatch(false, watchFailure(err))
		poke() // no event reported the changes since the watch failed
		// After a FullError, try again later, since other sources may make room. After any other
		// error, such as a limit of the system, only poll.
		s.poll(ctx, poke, errors.As(err, new(watch.FullError)))
	}
	s.setWatch(false, "not started")
}

func (s *Source) poll(ctx context.Context, poke func(), single bool) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if single {
				return
			}
			poke()
		}
	}
}

// follow watches until ctx ends or watching fails, and returns the error.
func (s *Source) follow(ctx context.Context, poke func()) error {
	root, err := s.opt.Watches.Join(s.opt.Root.Dir)
	if err != nil {
		return err
	}
	defer root.Leave()
	var watched *scanState
	for ctx.Err() == nil {
		s.mu.Lock()
		l := s.last
		s.mu.Unlock()
		if l != nil {
			if err := root.Fits(len(l.folders)); err != nil {
				return err // return before making the paths of the folders
			}
		}
		if l == nil || l != watched || !root.Intact() {
			changed, err := root.Set(l.paths(ctx))
			if err != nil {
				select {
				case cause := <-root.Failed(): // err is only a consequence of cause
					return cause
				default:
					return err
				}
			}
			s.setWatch(true, "")
			watched = l
			if changed {
				poke()
			}
		}
		if err := s.wait(ctx, root, poke); err != nil {
			return err
		}
	}
	return nil
}

// paths returns the real paths of the folders that a scan visited.
func (l *scanState) paths(ctx context.Context) []string {
	if l == nil {
		return nil
	}
	out := make([]string, len(l.folders))
	for i := range l.folders {
		pause(ctx, i)
		out[i] = l.realOf(i)
	}
	return out
}

// wait forwards pokes until a scan has finished.
func (s *Source) wait(ctx context.Context, root *watch.Root, poke func()) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.scanned:
			return nil
		case <-root.Changed():
			poke()
		case err := <-root.Failed():
			return err
		}
	}
}

// watchFailure describes why watching is not possible.
func watchFailure(err error) string {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EMFILE) {
		return "the system has no watches left: " + err.Error()
	}
	return err.Error()
}
