package settings

import (
	"context"
	"os"
	"time"
)

// WatchInterval is the interval at which a server checks its settings files for changes.
const WatchInterval = time.Second

// Seen is the state of several files. The entry of a missing file is nil.
type Seen []os.FileInfo

// Look returns the present state of files. It follows links, since a link may have been replaced.
// It opens no file, since an audit of the machine may log each open of a key.
func Look(files ...string) Seen {
	now := make(Seen, len(files))
	for i, file := range files {
		if info, err := os.Stat(file); err == nil {
			now[i] = info
		}
	}
	return now
}

// Same reports whether the files are the same and unchanged.
func (s Seen) Same(now Seen) bool {
	if len(s) != len(now) {
		return false
	}
	for i := range s {
		switch a, b := s[i], now[i]; {
		case a == nil || b == nil:
			if a != b {
				return false
			}
		case !os.SameFile(a, b) || a.Size() != b.Size() || a.Mode() != b.Mode() || !a.ModTime().Equal(b.ModTime()):
			return false
		}
	}
	return true
}

// patience is the number of intervals for which [Watch] waits for a file that keeps changing.
const patience = 5

// Watch calls changed after each change of a file, until the context ends. seen is the state before
// the first change. Watch waits until the file stays the same for an interval, so that the file is
// complete, but not longer than [patience] intervals.
func Watch(ctx context.Context, file string, seen Seen, changed func()) {
	tick := time.NewTicker(WatchInterval)
	defer tick.Stop()
	last, waits := seen, 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := Look(file)
		switch {
		case now.Same(seen):
			waits = 0
		case now.Same(last) || waits == patience:
			seen, waits = now, 0
			changed()
		default:
			waits++
		}
		last = now
	}
}
