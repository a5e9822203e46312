package provenance

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Source returns a source that serves only skills that match their locks if locks are enforced, and
// otherwise s itself. A nil Locks enforces nothing.
//
// At each scan, all files of each skill below a root with a lock are compared with the lock. A
// skill that does not match has a fault, and none of its files can be opened. The files of the
// other skills are hashed again while they are read, and compared with the lock of that moment: a
// file read to its end matches the lock, or the read fails.
func (l *Locks) Source(s catalog.Source) catalog.Source {
	from, onDisk := s.(*dir.Source)
	if l == nil || !l.o.Enforce || !onDisk {
		return s
	}
	return &source{Source: from, locks: l, places: map[string]*judged{}}
}

// gate holds the verdict on a folder with a skill. All file systems of that folder in the catalogue
// share it, across sources and scans.
type gate struct {
	now    atomic.Pointer[verdict]
	source atomic.Pointer[source] // last source that judged the folder
}

// gate returns the gate of a skill of a root.
func (l *Locks) gate(root, path string) *gate {
	l.mu.Lock()
	defer l.mu.Unlock()
	at := [2]string{root, path}
	g := l.gates[at].Value()
	if g == nil {
		g = &gate{}
		l.gates[at] = weak.Make(g)
		runtime.AddCleanup(g, l.forget, at)
	}
	return g
}

// forget removes the entry of a gate that no file system uses any more.
func (l *Locks) forget(at [2]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gates[at].Value() == nil {
		delete(l.gates, at)
	}
}

// source embeds the concrete type for its other methods: Watch, Folders and the methods used by
// package doctor.
type source struct {
	*dir.Source
	locks *Locks
	poke  atomic.Pointer[func()]

	mu      sync.Mutex
	places  map[string]*judged // by the path of the bundle
	inner   uint64             // the version of the last scan of Source
	version uint64             // of the last scan
}

// versions numbers the scans of all sources, since one source may replace another.
var versions atomic.Uint64

// judged is a folder with a skill, while the source finds one there.
type judged struct {
	*gate
	found, given *skill.Bundle // the same skill, as Source and as source return it
	files        []skill.File  // known digests, without files whose stamps prove nothing
}

// verdict is the result of comparing a place with its lock. It is immutable; nil means a place
// without a lock.
type verdict struct {
	fault *skill.LockError // why the skill is not served, or nil
	entry lockfile.Entry
}

// Watch implements [catalog.Watcher].
func (s *source) Watch(ctx context.Context, poke func()) {
	s.poke.Store(&poke)
	s.Source.Watch(ctx, poke)
}

// changed requests a refresh, if the catalogue watches.
func (g *gate) changed() {
	if poke := g.source.Load().poke.Load(); poke != nil {
		(*poke)()
	}
}

// Scan implements [catalog.Source].
func (s *source) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.Source.Scan(ctx)
	if err != nil {
		return scan, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.judgeAll(ctx, &scan); err != nil {
		return skill.Scan{}, err
	}
	return scan, nil
}

// judgeAll judges the skills of a scan, and replaces them by guarded ones.
func (s *source) judgeAll(ctx context.Context, scan *skill.Scan) error {
	places := make([]*judged, len(scan.Bundles))
	for i, b := range scan.Bundles {
		if places[i] = s.places[b.Path]; places[i] == nil {
			places[i] = &judged{gate: s.locks.gate(s.Root().Dir, b.Path)}
		}
		places[i].source.Store(s)
	}
	before := make([]*verdict, len(places))
	for i, p := range places {
		before[i] = p.now.Load()
	}
	turn := s.locks.turns.Add(1)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(places)) {
		wg.Go(func() {
			for i := range next {
				var loaded *skill.Skill
				if len(scan.Skills) > 0 {
					loaded = scan.Skills[i]
				}
				places[i].now.Store(s.locks.judge(ctx, turn, scan.Bundles[i], places[i], loaded))
			}
		})
	}
	for i := range places {
		next <- i
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	same := scan.Version != 0 && scan.Version == s.inner && len(places) == len(s.places)
	bundles, skills := make([]*skill.Bundle, len(places)), slices.Clone(scan.Skills)
	s.places = make(map[string]*judged, len(places))
	for i, p := range places {
		now := p.now.Load()
		same = same && now.equal(before[i])
		if now != nil && now.fault != nil && !now.equal(before[i]) {
			s.locks.drift(scan.Bundles[i], now.fault.Message, true)
		}
		if p.found != scan.Bundles[i] || !now.equal(before[i]) || p.given == nil {
			p.found, p.given = scan.Bundles[i], s.guard(p, scan.Bundles[i], now)
		}
		bundles[i], s.places[p.found.Path] = p.given, p
		if len(skills) > 0 && skills[i] != nil {
			loaded := *skills[i]
			loaded.Bundle = p.given
			if skills[i] = &loaded; now != nil && now.fault != nil {
				skills[i] = nil // to be loaded with the fault
			}
		}
	}
	scan.Bundles, scan.Skills = bundles, skills
	if s.inner = scan.Version; !same {
		s.version = versions.Add(1)
	}
	if scan.Version != 0 {
		scan.Version = s.version
	}
	return nil
}

// equal reports whether a skill need not be read again.
func (v *verdict) equal(o *verdict) bool {
	switch {
	case v == nil || o == nil:
		return v == o
	case v.fault == nil || o.fault == nil:
		return v.fault == o.fault && v.entry.Digest == o.entry.Digest
	}
	return *v.fault == *o.fault
}

// guard returns a bundle with the verdict's fault, whose files are checked while they are read.
func (s *source) guard(p *judged, b *skill.Bundle, now *verdict) *skill.Bundle {
	guarded := *b
	guarded.FS = &guardedFS{inner: b.FS, gate: p.gate, locks: s.locks, bundle: b}
	if now != nil && now.fault != nil && b.Fault() == nil {
		extra := skill.Extra{}
		if b.Extra != nil {
			extra = *b.Extra
		}
		extra.Fault = now.fault
		guarded.Extra = &extra
	}
	return &guarded
}

// judge compares a skill with its lock. loaded is the skill as the scan has read it, or nil.
func (l *Locks) judge(ctx context.Context, turn uint64, b *skill.Bundle, p *judged, loaded *skill.Skill) *verdict {
	lock, key := l.find(b, turn)
	if lock == nil {
		p.files = nil
		return nil
	}
	entry, has := lock.entry(key)
	if lock.fault != nil || !has {
		return &verdict{fault: lock.without(b, key)}
	}
	if err := p.compare(ctx, b, entry, l); err != nil {
		return &verdict{fault: lock.located(err), entry: entry}
	}
	if main, _ := fileOf(entry, b.Entry); loaded != nil && loaded.Digest != (skill.Digest{}) && loaded.Digest != main.Digest {
		return &verdict{fault: lock.located(changed("'" + b.Entry + "' differs")), entry: entry} // it has changed back meanwhile
	}
	return &verdict{entry: entry}
}

// compare hashes the files of a skill, except those whose stamps prove that they have not changed.
func (p *judged) compare(ctx context.Context, b *skill.Bundle, entry lockfile.Entry, l *Locks) *skill.LockError {
	begun := l.o.Now()
	s := &skill.Skill{Bundle: b}
	files, err := s.Manifest(ctx, p.files)
	if errors.Is(err, skill.ErrTooLarge) && isLarge(entry) {
		files, err = s.LargeManifest(ctx, p.files, maxFiles, maxSize)
	}
	if err != nil {
		p.files = nil
		if errors.Is(err, skill.ErrTooLarge) {
			return changed("it has more than the locked files")
		}
		return &skill.LockError{Message: "cannot be compared with its lock: " + skill.Reason(err), Fix: "let knack read all files of the skill, and leave them alone for a moment"}
	}
	p.files = files
	if racy := func(f skill.File) bool { return f.Stamp.Racy(begun) }; slices.ContainsFunc(files, racy) {
		p.files = slices.DeleteFunc(slices.Clone(files), racy)
	}
	return differs(s, entry, files)
}

// fileOf finds a file of an entry, whose files are in path order.
func fileOf(entry lockfile.Entry, name string) (lockfile.File, bool) {
	for _, f := range entry.Files {
		if f.Path == name {
			return f, true
		}
	}
	return lockfile.File{}, false
}

// Whole and Hidden are the methods of package dir's skill folders beside [fs.FS].
type (
	onePass interface {
		Whole(ctx context.Context, known []skill.File) (files []skill.File, ok bool)
	}
	hiddenLister interface {
		Hidden(ctx context.Context, limit int) (paths []string, count int, err error)
	}
)

var (
	_ catalog.Watcher = (*source)(nil)
	_ catalog.Folders = (*source)(nil)
	_ fs.StatFS       = (*guardedFS)(nil)
	_ fs.ReadDirFS    = (*guardedFS)(nil)
)
