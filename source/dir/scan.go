package dir

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// Options configures a [Source] for its root.
type Options struct {
	Root skill.Root
	// Required makes a missing root an error rather than an empty scan, since the user
	// asked for this root.
	Required bool
	// NoLinks makes a scan follow no link to a folder. Otherwise it follows a link that is a direct
	// child of the root to any target, because the root's owner placed it there. It follows a
	// deeper link only to a target below the root. Links within a skill are resolved when a file is
	// opened, and never lead out of the skill.
	NoLinks bool
	// Within is the folder that must contain the root after links are resolved. It is the root's
	// project, which may be a clone. If it does not contain the root, the root counts as missing.
	// Then nothing in the root is read, not even a file of a skill that was found before. Within is
	// "" for a root that may be anywhere.
	Within string
	// Places, if not nil, are the only folders in which a scan looks for skills. It then follows no
	// link that leads out of the root. The root is a plugin, and its client chooses the folders.
	Places []Place
	// Load makes the first scan load each skill while its folder is open; see [skill.Scan.Skills].
	// That costs a third of reading the skill later.
	Load bool
	// Watches are the system's watches. The sources of a process should share one Watches. If it is
	// nil, the source makes its own.
	Watches *Watches
}

// Source finds the skills below one folder. Its methods may be called from several
// goroutines.
type Source struct {
	opt    Options
	root   *skill.Root // opt.Root for the bundles, which may outlive the source
	opener opener
	looked atomic.Bool      // a missing root was scanned
	now    func() time.Time // time.Now, replaced in tests

	mu      sync.Mutex
	last    *scanState    // state after the last scan; nil if the root is missing
	folders *folderList   // for [Source.Folders]; nil if no stamp proves a list
	scanned chan struct{} // poked after each scan
	first   chan struct{} // closed after the first scan
	begin   sync.Once     // closes first
	watch   watchState
}

// New makes a source for one root. It does not touch the disk.
func New(opt Options) *Source {
	opt.Root.Dir = filepath.Clean(opt.Root.Dir)
	if opt.Watches == nil {
		opt.Watches = NewWatches()
	}
	root := opt.Root
	return &Source{
		opt:     opt,
		root:    &root,
		opener:  pickOpener(),
		now:     time.Now,
		scanned: make(chan struct{}, 1),
		first:   make(chan struct{}),
	}
}

// Root returns the root of the source.
func (s *Source) Root() skill.Root { return s.opt.Root }

// Scan examines every folder below the root and describes the skills that it finds. It fails if the
// root cannot be read at all, or if ctx ends. A fault in a deeper folder becomes a notice or a
// bundle's fault. A root that does not exist, or is no longer a folder, is Missing. For a missing
// root, Scan also returns an error if [Options.Required] is set, or if there is something else at
// the root's path. If the root is not in [Options.Within], the error is [skill.ErrLeavesProject].
func (s *Source) Scan(ctx context.Context) (skill.Scan, error) {
	if s.opt.Root.Absent && !s.looked.Swap(true) {
		s.remember(nil)
		return skill.Scan{Missing: true}, nil
	}
	if err := realpath.Await(ctx, s.opt.Root.Dir); err != nil {
		return skill.Scan{}, err
	}
	real, err := s.real()
	if err != nil {
		return s.failed(err)
	}
	top, err := s.open(real)
	if err != nil {
		return s.failed(err)
	}
	defer top.close()
	s.mu.Lock()
	before := s.last
	s.mu.Unlock()
	if now := s.unchanged(ctx, before, top, real); now != nil {
		s.remember(now)
		return now.scan, nil
	}
	stamps, ok := top.(stampHandle)
	w := &walk{source: s, begun: time.Now(), top: top, real: real, location: s.locationOf(real), load: s.opt.Load && before == nil, keepsStamps: ok && stamps.keepsTimes(), special: map[string]bool{}}
	if w.proven = w.keepsStamps; w.keepsStamps {
		if stamp, err := stamps.stamp("."); err == nil {
			w.dev, w.location.dev = stamp.Dev, stamp.Dev
		}
		w.single = before != nil
	}
	scan, err := w.run(ctx)
	if err != nil {
		return s.failed(err)
	}
	if before != nil {
		keepSame(scan.Bundles, before.scan.Bundles)
	}
	scan.Version = versions.Add(1)
	if s.opt.Root.Real != "" {
		scan.Real = real
	}
	s.remember(w.state(scan))
	return scan, nil
}

// real returns the real path of the root, which is within [Options.Within].
func (s *Source) real() (string, error) {
	real, err := realRoot(s.opt.Root.Dir)
	if err != nil || s.opt.Within == "" {
		return real, err
	}
	within, err := realpath.Eval(s.opt.Within)
	if err == nil && !realpath.Within(within, real) {
		err = skill.ErrLeavesProject
	}
	return real, err
}

// open opens the root, whose real path is real. If [Options.Within] is set, it opens the path that
// was checked, and forbids links in that path. So no link can be added in between.
func (s *Source) open(real string) (handle, error) {
	if s.opt.Within == "" {
		return s.opener.folder(s.opt.Root.Dir, false)
	}
	top, err := s.opener.folder(real, true)
	if errors.Is(err, errThroughLink) {
		err = skill.ErrLeavesProject
	}
	return top, err
}

// enter opens the root for a caller that needs no real path.
func (s *Source) enter() (handle, error) {
	if s.opt.Within == "" {
		return s.open("")
	}
	real, err := s.real()
	if err != nil {
		return nil, err
	}
	return s.open(real)
}

// failed returns the scan of a root that yields no bundles. If the root is missing, the watch
// learns that the root's folders have gone, and watches for their return. The disk has answered, so
// the watch need not wait any longer.
func (s *Source) failed(err error) (skill.Scan, error) {
	err = bare(err)
	s.begin.Do(func() { close(s.first) })
	scan := skill.Scan{Missing: errors.Is(err, fs.ErrNotExist) || errors.Is(err, skill.ErrNotFolder) || errors.Is(err, skill.ErrLeavesProject)}
	if scan.Missing {
		s.remember(nil)
	}
	if errors.Is(err, fs.ErrNotExist) && !s.opt.Required {
		scan.Notices = dangling(s.opt.Root.Dir)
		return scan, nil
	}
	return scan, fmt.Errorf("scan %s: %w", s.opt.Root.Dir, err)
}

// dangling reports a link to nowhere on the way to a missing root, if there is one. Such a link
// shows that the user wanted a root there.
func dangling(root string) []skill.Notice {
	for at := root; filepath.Dir(at) != at; at = filepath.Dir(at) {
		in, err := os.Lstat(at)
		if err != nil {
			continue
		}
		if !realpath.IsLink(in.Mode()) {
			return nil
		}
		target, err := os.Readlink(at)
		if _, gone := os.Stat(at); err != nil || gone == nil {
			return nil
		}
		message := "is a link to " + display.Spelt(target) + ", which is not there"
		if at != root {
			message = "is below " + display.Spelt(filepath.Base(at)) + ", which " + message
		}
		return []skill.Notice{{Path: ".", Rule: ruleLinkDangling, Message: message, Fix: "make the folder that the link leads to, or remove the link"}}
	}
	return nil
}

func (s *Source) remember(l *scanState) {
	s.mu.Lock()
	s.last = l
	s.mu.Unlock()
	s.signalScanned()
}

// signalScanned signals that a scan has ended.
func (s *Source) signalScanned() {
	s.begin.Do(func() { close(s.first) })
	select {
	case s.scanned <- struct{}{}:
	default:
	}
}

// Check returns the reason that the folder at an absolute path cannot be a root. The reason is
// [fs.ErrNotExist], [skill.ErrNotFolder], [fs.ErrPermission], a link loop ([syscall.ELOOP]) or
// another error of the system. Check returns nil if the folder can be a root. It also returns nil
// if the disk does not answer within seconds, because a scan finds out later.
func Check(dir string) error { return realpath.Ask(dir, nil, func() error { return check(dir) }) }

func check(dir string) error {
	real, err := realRoot(dir)
	if err != nil {
		return bare(err)
	}
	f, err := os.Open(real)
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	if _, err := f.Readdirnames(1); err != nil && !errors.Is(err, io.EOF) {
		return bare(err)
	}
	return nil
}

// FS returns the folder at an absolute path as a file system with the rules for a skill's folder:
// contained, and without dot-entries. The folder itself may be a link.
func FS(dir string) (fs.FS, error) {
	real, err := realRoot(dir)
	if err != nil {
		return nil, bare(err)
	}
	return &folder{location: &location{opener: pickOpener(), base: real, plain: true}, sub: "."}, nil
}

// realRoot resolves the root, which may be a link.
func realRoot(dir string) (string, error) {
	if realpath.Silent(dir) {
		return "", realpath.ErrSilent
	}
	fi, err := os.Stat(dir)
	if err != nil {
		return "", err
	}
	if !fi.IsDir() {
		return "", skill.ErrNotFolder
	}
	return realpath.Eval(dir)
}

// bundled contains a bundle and its file system in one allocation, because there are many.
type bundled struct {
	skill.Bundle
	folder folder
}

// bundle describes the skill at p, whose folder contains the given spellings of SKILL.md. dev is
// the folder's device if it keeps stamps, else 0. The entry is not examined yet.
func (w *walk) bundle(p *node, spellings []string, dev uint64) *skill.Bundle {
	all := &bundled{folder: w.folder(p, dev)}
	b := &all.Bundle
	b.Path, b.In, b.FS = p.path, w.source.root, &all.folder
	entry, others := choose(spellings)
	b.Entry = entry
	if p.linked || others != nil {
		b.Extra = &skill.Extra{Others: others}
	}
	if p.linked {
		b.Extra.Link = p.real()
	}
	return b
}

// keepSame replaces bundles with the equal ones of the previous scan. The skills that were loaded
// from that scan refer to those.
func keepSame(now, before []*skill.Bundle) {
	for i, b := range now {
		for len(before) > 0 && before[0].Path < b.Path {
			before = before[1:]
		}
		if len(before) > 0 && sameBundle(before[0], b) {
			now[i] = before[0]
		}
	}
}

func sameBundle(a, b *skill.Bundle) bool {
	in, now := a.FS.(*folder), b.FS.(*folder)
	return a == b || a.Same(b) && in.sub == now.sub && *in.location == *now.location
}

// examine returns the stamp of a skill's entry, or the reason that it cannot be served.
func examine(h handle, name string, f *folder) (skill.Stamp, error) {
	real, in, err := locate(h, name, f)
	switch {
	case errors.Is(err, errThroughLink):
		err = skill.ErrUnstable
	case errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errDotEntry):
		err = fmt.Errorf("dangling link: %w", fs.ErrNotExist)
	case err == nil && !in.Mode().IsRegular():
		err = skill.ErrNotRegular
	case err == nil && in.Mode().Perm()&0o444 != 0o444:
		// The file may be unreadable for this user. Only opening it shows that.
		err = tryOpen(h, real)
	}
	if err != nil {
		return skill.Stamp{}, &fs.PathError{Op: "open", Path: name, Err: bare(err)}
	}
	return in.Stamp(), nil
}

func tryOpen(h handle, name string) error {
	f, err := h.open(name)
	if err != nil {
		return err
	}
	return f.Close()
}
