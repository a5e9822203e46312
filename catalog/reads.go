package catalog

import (
	"context"
	"io"
	"io/fs"
	"sync"
	"time"

	"github.com/knack-dev/knack/skill"
)

// Reads are the files and folders from which one answer was made, as their stamps
// tell them apart. An answer that is kept may be given again for as long as the
// snapshot of its [View] is the current one and its [Basis] holds.
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
	// Same prepares a look at several: do all have these stamps still? Looks for
	// requests that had all arrived before share what they keep in the variable.
	Same(names []string, stamps []skill.Stamp) func(shared *io.Closer) bool
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

// recorded reports whether anybody is to know what is read.
func recorded(ctx context.Context) bool { return ctx.Value(readsKey{}) != nil }

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

// Basis is what an answer was made from, prepared to be looked at.
type Basis struct {
	same  []func(shared *io.Closer) bool // one for each file system
	count int
	size  int
}

// perRead is what a prepared look holds besides its names, more or less.
const perRead = 512

// Basis is what is noted by now; nil where that is not everything, nothing, more
// than most files and folders, or one of them in two states.
func (r *Reads) Basis(most int) *Basis {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.doubts || len(r.files) == 0 {
		return nil
	}
	b := &Basis{}
	for rest := r.files; len(rest) > 0; {
		fs := rest[0].fs
		known := map[string]skill.Stamp{}
		var names []string
		var stamps []skill.Stamp
		var others []stamped
		for _, f := range rest {
			stamp, twice := known[f.name]
			switch {
			case f.fs != fs:
				others = append(others, f)
			case twice && stamp != f.stamp:
				return nil
			case !twice:
				known[f.name] = f.stamp
				names, stamps = append(names, f.name), append(stamps, f.stamp)
				b.size += perRead + 2*len(f.name)
				if b.count++; b.count > most {
					return nil
				}
			}
		}
		b.same = append(b.same, fs.Same(names, stamps))
		rest = others
	}
	return b
}

// Holds reports whether everything is still as it was read. It looks at each file
// and folder each time.
//
// Where several requests had arrived before the first of them is answered, their
// looks may share what they see of folders, in a variable that begins as nil. It
// must be closed before another request is received; nil: nothing is shared.
func (b *Basis) Holds(shared *io.Closer) bool {
	for _, same := range b.same {
		if !same(shared) {
			return false
		}
	}
	return true
}

// Size is about how many bytes it holds.
func (b *Basis) Size() int { return b.size }

// Now is [Catalog.View] through a sight, without waiting; false where nothing was
// read yet.
func (c *Catalog) Now(sight *Sight) (View, bool) {
	select {
	case <-c.ready:
		return c.view(sight), true
	default:
		return View{}, false
	}
}
