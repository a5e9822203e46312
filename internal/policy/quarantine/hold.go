// Package quarantine withholds skills until a judge has let them pass.
//
// A [Source] replaces another source, so that every surface sees the same skills: a held-back skill
// has a fault, and none of its files can be opened. The files of the other skills are hashed while
// they are read, and compared with the judged files. Every served byte was judged, or the read
// fails.
package quarantine

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Candidate is a skill to judge.
type Candidate struct {
	*skill.Skill // as loaded; its file system contains only the files to judge
	Root         skill.Root
	Files        []skill.File // with their digests, in path order; nil if they cannot all be listed
	Set          skill.Digest // of the files; see [skill.SetOf]
	Err          error        // why they cannot be listed
}

// Judge decides which skills are served. Its methods may be called from any goroutine.
type Judge interface {
	// Known returns the verdict on a skill if it need not be read; nil lets it pass. ok is false if
	// the skill must be judged.
	Known(c *Candidate) (fault *skill.HeldError, ok bool)
	// Judge reads a skill, so that Known has its verdict. It fails only if the context ends.
	Judge(ctx context.Context, c *Candidate) error
	// Changed calls poke, until the context ends, when verdicts may have changed though no skill
	// did.
	Changed(ctx context.Context, poke func())
}

// Files are the files of a skill when it was judged, with the stamp of its SKILL.md.
type Files struct {
	Main  skill.Stamp
	Files []skill.File
	Set   skill.Digest // of the files
}

// Memory remembers the files of skills between two runs. With it, the first scan of a source knows
// which skills to serve without reading a file. Its methods may be called from any goroutine.
type Memory interface {
	Recall(place string) (Files, bool)
	Remember(place string, f Files)
}

// Bounds of a skill to judge, equal to the bounds of an installed skill.
const (
	MaxFiles = 10_000
	MaxSize  = 256 << 20
)

// budget bounds the time that one scan of a server spends on judging unknown skills. The rest are
// held back, and another scan follows at once. Some 300 real skills are judged in that time, so
// that a client that asks only at its start nearly always sees all skills.
const budget = time.Second

// Options configures a [Source].
type Options struct {
	Judge  Judge
	Memory Memory // or nil
	// Whole makes a scan judge every skill without a time limit, for a command that scans only
	// once.
	Whole bool
}

// New returns a source of those skills in from that the judge lets pass.
func New(from catalog.Source, o Options) catalog.Source {
	s := &Source{from: from, o: o, places: map[string]*place{}}
	if on, ok := from.(onDisk); ok {
		return &diskSource{Source: s, onDisk: on}
	}
	return s
}

// onDisk has the methods of package dir's source beside [catalog.Source].
type onDisk interface {
	catalog.Folders
	Names(name string, limit int) (names []string, ok bool)
	Watching() (on bool, reason string)
}

type diskSource struct {
	*Source
	onDisk
}

// Source serves those skills of another source that a judge lets pass.
type Source struct {
	from catalog.Source
	o    Options
	poke atomic.Pointer[func()]

	mu      sync.Mutex
	scanned bool
	pending bool              // the last scan has left skills unjudged, or has trusted its memory
	places  map[string]*place // by the path of the bundle
	inner   uint64            // the version of the last scan of from
	version uint64            // of the last scan
}

// versions numbers the scans of all sources, since one source may replace another.
var versions atomic.Uint64

// place is a folder with a skill, while the source finds one there.
type place struct {
	now          atomic.Pointer[verdict]
	of           *Source
	found, given *skill.Bundle // the same skill, as returned by from and by this source
	files        []skill.File  // known digests, without files whose stamps prove nothing
	loaded       *skill.Skill  // as last judged
}

// verdict is the decision on a skill. It is immutable.
type verdict struct {
	fault *skill.HeldError // nil lets it pass
	files []skill.File     // the judged files, in path order
	main  skill.Digest     // of SKILL.md
}

// Root implements [catalog.Source].
func (s *Source) Root() skill.Root { return s.from.Root() }

// Watch implements [catalog.Watcher].
func (s *Source) Watch(ctx context.Context, poke func()) {
	s.poke.Store(&poke)
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.o.Judge.Changed(ctx, poke) })
	s.mu.Lock()
	pending := s.pending
	s.mu.Unlock()
	if pending {
		poke()
	}
	if w, ok := s.from.(catalog.Watcher); ok {
		w.Watch(ctx, poke)
	}
}

// changed requests a scan, if the catalogue watches.
func (s *Source) changed() {
	if poke := s.poke.Load(); poke != nil {
		(*poke)()
	}
}

// Scan implements [catalog.Source].
func (s *Source) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.from.Scan(ctx)
	if err != nil {
		return scan, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.judgeAll(ctx, &scan)
	if err != nil {
		return skill.Scan{}, err
	}
	return scan, nil
}

// judgeAll judges the skills of a scan, and replaces them by guarded ones.
func (s *Source) judgeAll(ctx context.Context, scan *skill.Scan) error {
	// All verdicts take effect together, after the last: the verdicts of a cancelled scan never do.
	places, before, after := make([]*place, len(scan.Bundles)), make([]*verdict, len(scan.Bundles)), make([]*verdict, len(scan.Bundles))
	for i, b := range scan.Bundles {
		if places[i] = s.places[b.Path]; places[i] == nil {
			places[i] = &place{of: s}
		}
		before[i] = places[i].now.Load()
	}
	deadline := time.Now().Add(budget)
	if s.o.Whole {
		deadline = time.Time{}
	}
	var pending atomic.Bool
	trusting := !s.scanned && s.o.Memory != nil && !s.o.Whole
	s.scanned = true
	err := inParallel(ctx, len(places), func(i int) {
		var loaded *skill.Skill
		if len(scan.Skills) > 0 {
			loaded = scan.Skills[i]
		}
		if trusting {
			if after[i] = places[i].recall(scan.Bundles[i], loaded); after[i] != nil {
				pending.Store(true)
				return
			}
		}
		after[i] = places[i].judge(ctx, scan.Bundles[i], loaded, deadline)
		if now := after[i]; now.fault != nil && now.fault.Pending {
			pending.Store(true)
		}
	})
	if err != nil {
		return err
	}
	holdAround(scan.Bundles, places, after)
	same := scan.Version != 0 && scan.Version == s.inner && len(places) == len(s.places)
	bundles, skills := make([]*skill.Bundle, len(places)), slices.Clone(scan.Skills)
	s.places = make(map[string]*place, len(places))
	for i, p := range places {
		now := after[i]
		p.now.Store(now)
		unchanged := before[i] != nil && now.sameFault(before[i])
		same = same && unchanged
		if p.found != scan.Bundles[i] || !unchanged {
			p.found, p.given = scan.Bundles[i], p.guard(scan.Bundles[i], now)
		}
		bundles[i], s.places[p.found.Path] = p.given, p
		if len(skills) == 0 || skills[i] == nil {
			continue
		}
		loaded := *skills[i]
		loaded.Bundle = p.given
		if skills[i] = &loaded; now.fault != nil || loaded.Digest != now.main {
			skills[i] = nil // to be loaded from the guarded folder
		}
	}
	scan.Bundles, scan.Skills = bundles, skills
	if s.inner = scan.Version; !same {
		s.version = versions.Add(1)
	}
	if scan.Version != 0 {
		scan.Version = s.version
	}
	if s.pending = pending.Load(); s.pending {
		s.changed()
	}
	return nil
}

// holdAround holds back the skills around a held-back one, since its files are also theirs.
func holdAround(bundles []*skill.Bundle, places []*place, verdicts []*verdict) {
	within := map[string]int{} // a held-back skill, by the folders above it
	for i, b := range bundles {
		if verdicts[i].fault == nil {
			continue
		}
		for at := b.Path; at != "."; {
			at = path.Dir(at)
			if j, ok := within[at]; ok && !verdicts[j].fault.Pending {
				break
			}
			within[at] = i
		}
	}
	for i, b := range bundles {
		j, ok := within[b.Path]
		if !ok || verdicts[i].fault != nil {
			continue
		}
		around := *verdicts[i]
		around.fault = &skill.HeldError{Pending: verdicts[j].fault.Pending, Name: places[i].loaded.Name, Message: "held back: it contains " + display.Quote(bundles[j].Path) + ", which is held back", Fix: "see why that one is"}
		verdicts[i] = &around
	}
}

// inParallel calls work with each number below n, on every processor.
func inParallel(ctx context.Context, n int, work func(i int)) error {
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

func (v *verdict) sameFault(o *verdict) bool {
	if v.fault == nil || o.fault == nil {
		return v.fault == o.fault
	}
	return *v.fault == *o.fault
}

// guard returns a bundle with the verdict's fault, whose files are checked while they are read.
func (p *place) guard(b *skill.Bundle, now *verdict) *skill.Bundle {
	guarded := *b
	guarded.FS = &folder{inner: b.FS, bundle: b, now: p.now.Load, differs: p.of.changed}
	if now.fault != nil && b.Fault() == nil {
		extra := skill.Extra{}
		if b.Extra != nil {
			extra = *b.Extra
		}
		extra.Fault = now.fault
		guarded.Extra = &extra
	}
	return &guarded
}

// pending is the fault of a skill until it is judged.
func pending(name string) *skill.HeldError {
	return &skill.HeldError{Pending: true, Name: name, Message: "held back: it is not judged yet", Fix: "wait a moment"}
}

// recall returns the verdict on the files that the skill had in an earlier run, or nil if its
// SKILL.md has changed. Other changed files cannot be read, and the next scan finds them.
func (p *place) recall(b *skill.Bundle, loaded *skill.Skill) *verdict {
	if loaded == nil {
		return nil
	}
	was, ok := p.of.o.Memory.Recall(p.of.key(b))
	if !ok || was.Main != b.Stamp {
		return nil
	}
	v := p.verdictOf(b, was.Files)
	if v.main != loaded.Digest {
		return nil
	}
	again := *loaded
	judged := *b
	judged.FS = &folder{inner: b.FS, bundle: b, now: func() *verdict { return v }, differs: func() {}}
	again.Bundle = &judged
	if v.fault, ok = p.of.o.Judge.Known(&Candidate{Skill: &again, Root: p.of.Root(), Files: was.Files, Set: was.Set}); !ok {
		return nil
	}
	p.files, p.loaded = was.Files, loaded
	return v
}

// verdictOf returns a verdict that lets files pass.
func (p *place) verdictOf(b *skill.Bundle, files []skill.File) *verdict {
	v := &verdict{files: files}
	whole := &skill.Skill{Bundle: b}
	if i := slices.IndexFunc(files, func(f skill.File) bool { return whole.OnDisk(f.Path) == b.Entry }); i >= 0 {
		v.main = files[i].Digest
	}
	return v
}

// key returns a name of a place that is stable across runs.
func (s *Source) key(b *skill.Bundle) string {
	root := s.Root()
	return root.Label + "\x00" + root.Dir + "\x00" + b.Path
}

// judge decides on the skill as it is now. After the deadline, if any, it uses only known verdicts.
func (p *place) judge(ctx context.Context, b *skill.Bundle, loaded *skill.Skill, deadline time.Time) *verdict {
	begun := time.Now()
	whole := &skill.Skill{Bundle: b}
	files, err := whole.Manifest(ctx, p.files)
	if errors.Is(err, skill.ErrTooLarge) {
		files, err = whole.LargeManifest(ctx, p.files, MaxFiles, MaxSize)
	}
	p.files = files
	if racy := func(f skill.File) bool { return f.Stamp.Racy(begun) }; slices.ContainsFunc(files, racy) {
		p.files = slices.DeleteFunc(slices.Clone(files), racy)
	}
	v := p.verdictOf(b, files)
	var other atomic.Bool // the files no longer match the manifest
	judged := *b
	judged.FS = &folder{inner: b.FS, bundle: b, now: func() *verdict { return &verdict{files: files} }, differs: func() { other.Store(true) }}
	if loaded == nil || loaded.Digest != v.main {
		loaded = p.loaded
	}
	if loaded == nil || loaded.Digest != v.main || loaded.Path != b.Path {
		loaded = skill.Load(&judged)
	}
	again := *loaded
	again.Bundle = &judged
	p.loaded = loaded
	c := &Candidate{Skill: &again, Root: p.of.Root(), Files: files, Set: skill.SetOf(files), Err: err}
	fault, ok := p.of.o.Judge.Known(c)
	if !ok && (deadline.IsZero() || time.Now().Before(deadline)) && p.of.o.Judge.Judge(ctx, c) == nil && !other.Load() {
		fault, ok = p.of.o.Judge.Known(c)
	}
	switch {
	case !ok:
		fault = pending(loaded.Name)
	case err == nil && p.of.o.Memory != nil && len(p.files) == len(files):
		p.of.o.Memory.Remember(p.of.key(b), Files{b.Stamp, files, c.Set})
	}
	v.fault = fault
	return v
}

var (
	_ catalog.Watcher = (*Source)(nil)
	_ catalog.Folders = (*diskSource)(nil)
	_ fs.StatFS       = (*folder)(nil)
)
