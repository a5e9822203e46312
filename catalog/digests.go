package catalog

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/skill"
)

// The digests of files are cached. Each version of a file is hashed once; the stamp distinguishes
// versions. Two kinds of files are hashed each time: a file so young that a second write could
// leave the same stamp, and a file that has changed without a new stamp. Nothing is hashed before
// it is requested.

// maxLate is the number of slow manifests of a root at which no more begin. It bounds how long a
// list of skills on a silent disk takes.
const maxLate = 4

// digestCache caches the digests of a catalogue's skills. The zero value is ready for use.
type digestCache struct {
	late sync.Map // maps a root to an *atomic.Int32, the number of its manifests that take long

	mu      sync.Mutex
	digests map[rootPath]*skillDigests
}

// skillDigests caches the known digests of one skill's files.
type skillDigests struct {
	dir  string        // the skill's folder; a root's label may move to another folder
	late *atomic.Int32 // the number of slow manifests of its root

	turn   chan struct{} // capacity 1: a caller that holds the slot may use last
	last   manifest
	busy   chan struct{} // capacity 1: a goroutine that holds the slot may use the fields below
	files  []skill.File  // in path order, without the doubted ones
	doubts map[string]skill.Stamp
}

// manifest is a complete list of files, with the time at which the work on it began.
type manifest struct {
	begun time.Time
	files []skill.File
	err   error
}

// forget drops the digests of a removed skill.
func (c *digestCache) forget(at rootPath) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.digests, at)
}

// skillAt returns the digests of the skill in a folder. If none are cached for the folder, it
// starts with those that known returns.
func (c *digestCache) skillAt(root skill.Root, at rootPath, dir string, known func() []skill.File) *skillDigests {
	if s := c.find(at, dir); s != nil {
		return s
	}
	late, _ := c.late.LoadOrStore(root, new(atomic.Int32))
	first := &skillDigests{dir: dir, late: late.(*atomic.Int32), turn: make(chan struct{}, 1), busy: make(chan struct{}, 1), files: known()}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.digests[at]; now != nil && now.dir == dir {
		return now // another caller was faster
	}
	if c.digests == nil {
		c.digests = map[rootPath]*skillDigests{}
	}
	c.digests[at] = first
	return first
}

// find returns the digests of a folder, or nil.
func (c *digestCache) find(at rootPath, dir string) *skillDigests {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s := c.digests[at]; s != nil && s.dir == dir {
		return s
	}
	return nil
}

// manifest lists the skill's files with their digests, as they are now. It passes run the work that
// reads the disk. The work calls list with the known digests. It caches the new digests even if
// they come too late for the caller, so each call on a slow disk makes progress. Work that takes
// longer than long counts as late.
//
// Before run, a caller waits for its turn. If another caller has meanwhile made a manifest that was
// begun later than this call, both share it.
func (s *skillDigests) manifest(ctx context.Context, long time.Duration, run func(func()) error, list func(known []skill.File) ([]skill.File, error)) ([]skill.File, error) {
	came := time.Now()
	if s.late.Load() >= maxLate {
		return nil, skill.ErrBusy
	}
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.last.begun.After(came) {
		return s.last.files, s.last.err
	}
	made := &manifest{begun: time.Now()}
	if err := run(func() { s.make(ctx, long, made, list) }); err != nil {
		return nil, err // the work may still be under way
	}
	s.last = *made
	return made.files, made.err
}

// make makes a manifest, and caches its digests.
func (s *skillDigests) make(ctx context.Context, long time.Duration, m *manifest, list func(known []skill.File) ([]skill.File, error)) {
	select {
	case s.busy <- struct{}{}:
	case <-ctx.Done():
		m.err = ctx.Err()
		return
	}
	begun := time.Now()
	slow := time.AfterFunc(long, func() { s.late.Add(1) })
	defer func() {
		if !slow.Stop() {
			s.late.Add(-1)
		}
		<-s.busy
	}()
	files, err := list(s.files)
	if err != nil {
		m.err = err
		return
	}
	m.files, s.files = files, files
	doubt := func(f skill.File) bool {
		stamp, ok := s.doubts[f.Path]
		return ok && stamp == f.Stamp || f.Stamp.Racy(begun)
	}
	if slices.ContainsFunc(files, doubt) {
		s.files = slices.DeleteFunc(slices.Clone(files), doubt)
	}
}

// verify compares a file that was read with its cached digest. A write through a mapping
// into a dirty page can leave other bytes under an equal stamp. In that case verify drops
// the skill's cached digests, and the file is hashed again as long as it has that stamp.
func (c *digestCache) verify(at rootPath, dir, path string, stamp skill.Stamp, digest func() skill.Digest) {
	s := c.find(at, dir)
	if s == nil {
		return
	}
	select {
	case s.busy <- struct{}{}:
		defer func() { <-s.busy }()
	default:
		return // a manifest is being made
	}
	if i := slices.IndexFunc(s.files, func(f skill.File) bool { return f.Path == path }); i >= 0 && s.files[i].Stamp == stamp && s.files[i].Digest != digest() {
		if s.doubts == nil {
			s.doubts = map[string]skill.Stamp{}
		}
		s.doubts[path], s.files = stamp, nil
	}
}
