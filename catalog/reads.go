package catalog

import (
	"context"
	"io/fs"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Reads are the files and folders from which one answer was made, as their stamps
// tell them apart. An answer that is kept may be given again for as long as the
// snapshot of its [View] is the current one and its reads are fresh.
type Reads struct {
	mu     sync.Mutex
	files  []stamped
	doubts bool
}

type stamped struct {
	fs    looker
	name  string
	stamp skill.Stamp
}

// looker is a file system that takes a stamp without opening anything, or passing
// a link.
type looker interface {
	Look(name string) (skill.Stamp, error)
}

type readsKey struct{}

// Record has the reads noted that are made under the context it returns.
func Record(ctx context.Context) (context.Context, *Reads) {
	r := &Reads{}
	return context.WithValue(ctx, readsKey{}, r), r
}

// Doubt says that an answer made under the context depends on more than what is
// noted, and must not be kept.
func Doubt(ctx context.Context) {
	if r, ok := ctx.Value(readsKey{}).(*Reads); ok {
		r.mu.Lock()
		r.doubts = true
		r.mu.Unlock()
	}
}

// note notes that something was read. A stamp so young that a later write could
// leave it as it is proves nothing, and neither does one that a look does not see:
// that of what a link leads to.
func note(ctx context.Context, e *Entry, name string, stamp skill.Stamp) {
	r, ok := ctx.Value(readsKey{}).(*Reads)
	if !ok {
		return
	}
	l, ok := e.FS.(looker)
	if ok && !stamp.Racy(time.Now()) {
		seen, err := l.Look(name)
		ok = err == nil && seen == stamp
	} else {
		ok = false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, stamped{l, name, stamp})
	r.doubts = r.doubts || !ok
}

// noteFolders notes the folders of a skill, before they are read: a file that
// comes or goes changes the stamp of one.
func noteFolders(ctx context.Context, e *Entry) {
	if _, ok := ctx.Value(readsKey{}).(*Reads); !ok {
		return
	}
	err := fs.WalkDir(e.FS, ".", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !d.IsDir():
			return nil
		case skill.Hidden(p):
			return fs.SkipDir
		}
		info, err := fs.Stat(e.FS, p)
		if err == nil {
			note(ctx, e, p, skill.StampOf(info))
		}
		return err
	})
	if err != nil {
		Doubt(ctx)
	}
}

// Sure reports whether everything that was read is noted, and something was.
func (r *Reads) Sure() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.doubts && len(r.files) > 0
}

// Fresh reports whether everything is still as it was read. The reads must be
// sure, and nothing may be noted any more.
func (r *Reads) Fresh() bool {
	for i := range r.files {
		f := &r.files[i]
		if now, err := f.fs.Look(f.name); err != nil || now != f.stamp {
			return false
		}
	}
	return true
}

// Count is how many files and folders are noted.
func (r *Reads) Count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.files)
}
