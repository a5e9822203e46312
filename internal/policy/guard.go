// Package policy serves only the skills of a source that all deciders accept.
//
// [Guarded] replaces a source, so that commands, pages and servers see the same skills. A held-back
// skill has a fault, and none of its files can be opened. If a decider has compared the files of a
// skill, they are hashed while they are read, and compared again. Every served byte was judged, or
// the read fails.
package policy

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// Decider decides which skills of a source are served. Its functions may be called from any
// goroutine; all but Decide may be nil.
type Decider struct {
	// Decide returns the ruling on the current state of a skill.
	Decide func(ctx context.Context, c *Candidate) Ruling
	// Now decides again before a file of the skill is opened. It does not read the skill. If
	// changed is true, a scan is requested.
	Now func(b *skill.Bundle, last Ruling) (now Ruling, changed bool)
	// Held is called when a scan holds a skill back that the last scan did not hold back, or for a
	// different reason.
	Held func(b *skill.Bundle, why error)
	// Changed calls poke when rulings may have changed although no skill has changed. It returns
	// when the context ends.
	Changed func(ctx context.Context, poke func())
}

// Ruling is the decision of one decider on a skill. It is immutable.
type Ruling struct {
	Held error // why the skill is held back: a [skill.LockError] or a [skill.HeldError]; nil accepts the skill
	// Differs returns the error for a file whose contents differ from those in Files. If it is not
	// nil, only these files can be read.
	Differs func(name string, added bool) error
	Files   []skill.File // in path order
	Hides   bool         // only the names of Files can be listed, or none if the skill is held back
	Set     skill.Digest // if it changes, the skill is read again
	Again   bool         // another scan must follow immediately
}

// verdict combines the decisions of all deciders on a skill. It is immutable.
type verdict struct {
	reason  error    // the reason of the first ruling that holds the skill back
	rulings []Ruling // by decider
}

// Guarded returns a source with only the skills that all deciders accept. The first decider that
// holds a skill back gives the reason. A nil decider accepts every skill. If all deciders are nil,
// Guarded returns the source itself.
func Guarded(from catalog.Source, deciders ...*Decider) catalog.Source {
	deciders = slices.DeleteFunc(slices.Clone(deciders), func(d *Decider) bool { return d == nil })
	if len(deciders) == 0 {
		return from
	}
	s := &source{from: from, deciders: deciders, places: map[string]*skillFolder{}}
	if on, ok := from.(onDisk); ok {
		return &diskSource{source: s, onDisk: on}
	}
	return s
}

// onDisk contains those methods of the sources of package dir that [catalog.Source] lacks.
type onDisk interface {
	catalog.Folders
	Names(name string, limit int) (names []string, ok bool)
	Watching() (on bool, reason string)
}

type diskSource struct {
	*source
	onDisk
}

// source serves only the skills of another source that all deciders accept.
type source struct {
	from     catalog.Source
	deciders []*Decider
	poke     atomic.Pointer[func()]

	mu      sync.Mutex
	scanned bool
	again   bool                    // a decider wants the next scan immediately
	places  map[string]*skillFolder // by the path of the bundle
	inner   uint64                  // the version of the last scan of from
	version uint64                  // of the last scan
}

// scans numbers the scans, and versions numbers their results. All sources share both counters,
// since one source may replace another.
var scans, versions atomic.Uint64

// skillFolder is a folder in which the source finds a skill.
type skillFolder struct {
	now          atomic.Pointer[verdict]
	found, given *skill.Bundle // the skill as returned by from, and as returned by this source
	files        []skill.File  // the files whose stamps prove their contents, with digests
	loaded       *skill.Skill  // as last judged, or nil
}

// Root implements [catalog.Source].
func (s *source) Root() skill.Root { return s.from.Root() }

// Watch implements [catalog.Watcher].
func (s *source) Watch(ctx context.Context, poke func()) {
	s.poke.Store(&poke)
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, d := range s.deciders {
		if d.Changed != nil {
			wg.Go(func() { d.Changed(ctx, poke) })
		}
	}
	s.mu.Lock()
	again := s.again
	s.mu.Unlock()
	if again {
		poke()
	}
	if w, ok := s.from.(catalog.Watcher); ok {
		w.Watch(ctx, poke)
	}
}

// changed requests a scan, if the catalogue watches the source.
func (s *source) changed() {
	if poke := s.poke.Load(); poke != nil {
		(*poke)()
	}
}

// Scan implements [catalog.Source].
func (s *source) Scan(ctx context.Context) (skill.Scan, error) {
	scan, err := s.from.Scan(ctx)
	if err != nil {
		return scan, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.guardAll(ctx, &scan); err != nil {
		return skill.Scan{}, err
	}
	return scan, nil
}

// guardAll judges the skills of a scan, and replaces them with guarded skills.
func (s *source) guardAll(ctx context.Context, scan *skill.Scan) error {
	// All verdicts take effect together after the last one, so that the verdicts of a cancelled
	// scan never do.
	places, before, after := make([]*skillFolder, len(scan.Bundles)), make([]*verdict, len(scan.Bundles)), make([]*verdict, len(scan.Bundles))
	for i, b := range scan.Bundles {
		if places[i] = s.places[b.Path]; places[i] == nil {
			places[i] = &skillFolder{}
		}
		before[i] = places[i].now.Load()
	}
	turn := Candidate{Root: s.Root(), Scan: scans.Add(1), First: !s.scanned, Begun: time.Now()}
	s.scanned = true
	progress := skill.Progress(ctx)
	limit.Parallel(runtime.GOMAXPROCS(0), len(places), func(i int) {
		if ctx.Err() != nil {
			return
		}
		var loaded *skill.Skill
		if len(scan.Skills) > 0 {
			loaded = scan.Skills[i]
		}
		after[i] = s.askAll(ctx, turn.newCandidate(places[i], scan.Bundles[i], loaded))
		progress.Add(1)
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	holdAround(scan.Bundles, places, after)
	same := scan.Version != 0 && scan.Version == s.inner && len(places) == len(s.places)
	bundles, skills := make([]*skill.Bundle, len(places)), slices.Clone(scan.Skills)
	s.places, s.again = make(map[string]*skillFolder, len(places)), false
	for i, p := range places {
		now, b := after[i], scan.Bundles[i]
		p.now.Store(now)
		unchanged := now.same(before[i])
		same = same && unchanged
		s.again = s.again || now.wantsRescan()
		if now.reason != nil && !unchanged {
			s.notify(b, now)
		}
		if p.found != b || !unchanged {
			p.found, p.given = b, s.guard(p, b, now)
		}
		bundles[i], s.places[b.Path] = p.given, p
		if len(skills) == 0 || skills[i] == nil {
			continue
		}
		loaded := *skills[i]
		loaded.Bundle = p.given
		if skills[i] = &loaded; now.reason != nil || !now.hasMain(b, loaded.Digest) {
			skills[i] = nil // the catalogue loads it from the guarded folder
		}
	}
	scan.Bundles, scan.Skills = bundles, skills
	if s.inner = scan.Version; !same {
		s.version = versions.Add(1)
	}
	if scan.Version != 0 {
		scan.Version = s.version
	}
	if s.again {
		s.changed()
	}
	return nil
}

// askAll calls every decider for a skill. After one holds the skill back, c.Err tells the later
// deciders that they need not read the skill.
func (s *source) askAll(ctx context.Context, c *Candidate) *verdict {
	v := &verdict{rulings: make([]Ruling, len(s.deciders))}
	for i, d := range s.deciders {
		v.rulings[i] = d.Decide(ctx, c)
		if reason := v.rulings[i].Held; v.reason == nil && reason != nil {
			v.reason, c.Err = reason, cmp.Or(c.Err, reason)
		}
	}
	c.place.files, c.place.loaded = c.known, c.loaded
	return v
}

// notify calls the function Held of the decider that holds a skill back.
func (s *source) notify(b *skill.Bundle, v *verdict) {
	i := slices.IndexFunc(v.rulings, func(r Ruling) bool { return r.Held != nil })
	if i >= 0 && s.deciders[i].Held != nil {
		s.deciders[i].Held(b, v.reason)
	}
}

// same reports whether the verdict is the same as before, so that the skill need not be read again.
func (v *verdict) same(o *verdict) bool {
	return o != nil && reflect.DeepEqual(v.reason, o.reason) && (v.reason != nil || slices.EqualFunc(v.rulings, o.rulings, func(a, b Ruling) bool { return a.Set == b.Set }))
}

// wantsRescan reports whether a decider wants another scan immediately.
func (v *verdict) wantsRescan() bool {
	return pending(v.reason) || slices.ContainsFunc(v.rulings, func(r Ruling) bool { return r.Again })
}

func pending(err error) bool {
	reason, ok := errors.AsType[*skill.HeldError](err)
	return ok && reason.Pending
}

// hasMain reports whether the rulings allow a SKILL.md with the given digest.
func (v *verdict) hasMain(b *skill.Bundle, digest skill.Digest) bool {
	return !slices.ContainsFunc(v.rulings, func(r Ruling) bool {
		return r.Differs != nil && mainOf(b, r.Files) != digest
	})
}

// mainOf returns the digest of the file that serves as SKILL.md, or zero.
func mainOf(b *skill.Bundle, files []skill.File) skill.Digest {
	main, _ := fileOf(files, (&skill.Skill{Bundle: b}).ServedPath(b.Entry))
	return main.Digest
}

// holdAround also holds back each skill whose folder contains a skill that is held back for its
// contents. The outer skill contains the same files.
func holdAround(bundles []*skill.Bundle, places []*skillFolder, verdicts []*verdict) {
	within := map[string]int{} // a held-back skill, by the folders above it
	for i, b := range bundles {
		if _, ok := errors.AsType[*skill.HeldError](verdicts[i].reason); !ok {
			continue
		}
		for at := b.Path; at != "."; {
			at = path.Dir(at)
			if j, ok := within[at]; ok && !pending(verdicts[j].reason) {
				break
			}
			within[at] = i
		}
	}
	for i, b := range bundles {
		j, ok := within[b.Path]
		if !ok || verdicts[i].reason != nil {
			continue
		}
		around := *verdicts[i]
		around.reason = &skill.HeldError{Pending: pending(verdicts[j].reason), Name: places[i].loaded.Name, Message: "held back: it contains " + display.Quote(bundles[j].Path) + ", which is held back", Fix: "see why that one is"}
		verdicts[i] = &around
	}
}

// guard returns the bundle with the fault of the verdict, and with a file system that checks files
// while they are read.
func (s *source) guard(p *skillFolder, b *skill.Bundle, now *verdict) *skill.Bundle {
	guarded := *b
	guarded.FS = &folder{inner: b.FS, bundle: b, deciders: s.deciders, last: p.now.Load, differs: s.changed}
	if now.reason != nil && b.Fault() == nil {
		return guarded.WithFault(now.reason)
	}
	return &guarded
}

var (
	_ catalog.Watcher = (*source)(nil)
	_ catalog.Folders = (*diskSource)(nil)
	_ fs.StatFS       = (*folder)(nil)
)
