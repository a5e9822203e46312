// Package provenance compares the skills on disk with the locks of their folders. If locks are
// enforced, it serves only skills that match their locks.
package provenance

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/agents"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/source/dir"
)

// Options configures a [Locks]. The zero value of each field is the default.
type Options struct {
	// Enforce holds back skills that do not match their locks; see [Locks.Decider].
	Enforce bool
	Log     *slog.Logger // logs each changed skill once, at Warn; nil discards it
	// Drift, if not nil, is called once for each changed skill. refused tells whether the skill is
	// held back.
	Drift func(skill, reason string, refused bool)
	Shown func(path string) string // writes a path as a user of this machine would; nil if clients on other machines send requests too
	// Command writes a knack command as a user of this machine would type it, from its words.
	Command func(words ...string) string
	// Projects returns the folders of the open projects, if not nil.
	Projects func() []string
	// Global is the folder of the lock for all projects, or "". That lock is checked for every
	// root, since any root can be a link to a folder of its skills.
	Global string
	Home   string              // the user's home folder, or ""
	Getenv func(string) string // returns the environment variables that set the folders of clients; nil if none is set
	Now    func() time.Time    // nil for time.Now
}

// fresh is how long the result of a search for locks is used. A scan always searches again.
const fresh = time.Second

// outside is the smallest number of parent folders that are searched for the lock of a root outside
// a repository. It is two because .agents/skills is two levels deep.
const outside = 2

// mostAreas is the largest number of cached folders, not counting those whose locks must be
// remembered. mostStates is the largest number of cached results of comparisons.
const (
	mostAreas  = 1 << 10
	mostStates = 1 << 16
)

// missingShown is the largest number of missing skills named in a status.
const missingShown = 20

// Locks finds and caches the locks of roots. It reads a lock when it is first needed, and again
// after its stamp has changed. Locks implements [catalog.Provenance].
type Locks struct {
	o Options

	mu      sync.Mutex       // never held while waiting for a disk
	areas   map[string]*area // by the folder with skills
	files   map[string]*file // by the folder of the lock
	sweepAt int              // number of areas at which sweep runs

	logMu  sync.Mutex
	states map[string]catalog.LockState // last state of each skill with a lock, by folder
}

// New returns a Locks with an empty cache.
func New(o Options) *Locks {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Command == nil {
		o.Command = new(console.Env).Command
	}
	if o.Projects == nil {
		o.Projects = func() []string { return nil }
	}
	return &Locks{o: o, areas: map[string]*area{}, files: map[string]*file{}, states: map[string]catalog.LockState{}, sweepAt: mostAreas}
}

// area is a folder with skills: a root, or the parent folder of the target of a link to a skill.
type area struct {
	mu  sync.Mutex // held while waiting for its disk
	now atomic.Pointer[areaState]
	// lockFolders lists the folders of all locks that ever applied, and copies those of the locks of
	// copies. Both are used only if locks are enforced, and are guarded by mu.
	lockFolders []string
	copies      map[string]string // by the real path of the copy
}

// areaState is the cached state of an area.
type areaState struct {
	real    string           // its real path
	locks   []*lock          // the locks that apply; the first wins
	copies  map[string]*lock // by the real path of a folder with a copy of a locked skill
	checked time.Time
	turn    uint64 // number of the scan that checked the area
}

// area returns the state of a folder with skills. turn is the number of the caller's scan, or 0
// outside of scans. Each scan checks the state once. Other callers get the cached state if it is
// fresh, or if another caller is waiting for the disk.
func (l *Locks) area(folder string, turn uint64) areaState {
	l.mu.Lock()
	a := l.areas[folder]
	if a == nil {
		if len(l.areas) >= l.sweepAt {
			l.sweep()
		}
		a = &area{}
		l.areas[folder] = a
	}
	l.mu.Unlock()
	known := a.now.Load()
	if known != nil && turn == 0 {
		if now := l.o.Now(); now.Sub(known.checked) < fresh && !now.Before(known.checked) || !a.mu.TryLock() {
			return *known
		}
	} else {
		a.mu.Lock()
	}
	defer a.mu.Unlock()
	if known = a.now.Load(); known != nil && turn != 0 && known.turn >= turn {
		return *known
	}
	next := &areaState{real: realpath.Of(folder), checked: l.o.Now(), turn: turn}
	own, all := l.candidates(folder, next.real)
	for _, at := range all {
		lock := l.lockIn(at, turn)
		if lock != nil && lock.fault != nil && !l.o.Enforce && !slices.Contains(own, at) {
			continue
		}
		if lock != nil && lock.isAbout(next.real) {
			next.locks = append(next.locks, lock)
		}
		if lock != nil {
			next.addCopies(lock)
		}
	}
	if l.o.Enforce {
		for _, at := range a.lockFolders { // a lock still holds these skills back after it was emptied
			if !slices.ContainsFunc(next.locks, func(k *lock) bool { return k.folder == at }) {
				if lock := l.lockIn(at, turn); lock != nil {
					next.locks = append(next.locks, lock)
				}
			}
		}
		for real, at := range a.copies {
			if lock := l.lockIn(at, turn); lock != nil && next.copies[real] == nil {
				next.addCopy(real, lock)
			}
		}
		for real, lock := range next.copies {
			if a.copies == nil {
				a.copies = map[string]string{}
			}
			a.copies[real] = lock.folder
		}
		a.lockFolders = nil
		for _, lock := range next.locks {
			a.lockFolders = append(a.lockFolders, lock.folder)
		}
	}
	a.now.Store(next)
	return *next
}

// addCopies adds those copies of a lock's skills that are in the folder.
func (p *areaState) addCopies(lock *lock) {
	for real := range lock.copies {
		if realpath.Within(p.real, real) {
			p.addCopy(real, lock)
		}
	}
}

func (p *areaState) addCopy(real string, l *lock) {
	if p.copies == nil {
		p.copies = map[string]*lock{}
	}
	if p.copies[real] == nil {
		p.copies[real] = l
	}
}

// copyOf returns the lock and the key of the skill whose copy, in the folder of a client, is in a
// real folder. The lock is nil if there is none.
func (p *areaState) copyOf(real string) (*lock, string) {
	for at, below := real, ""; len(p.copies) > 0 && filepath.Dir(at) != at; at, below = filepath.Dir(at), path.Join(filepath.Base(at), below) {
		if lock := p.copies[at]; lock != nil {
			return lock, path.Join(lock.copies[at], below)
		}
	}
	return nil, ""
}

// sweep drops cached folders and locks that can be read again. Without it, the cache would grow as
// links lead to new places. Folders that wait for their disk stay, as do folders that had a lock if
// locks are enforced. The caller holds l.mu.
func (l *Locks) sweep() {
	maps.DeleteFunc(l.areas, func(_ string, a *area) bool {
		if !a.mu.TryLock() {
			return false
		}
		defer a.mu.Unlock()
		a.now.Store(nil)
		return len(a.lockFolders)+len(a.copies) == 0
	})
	maps.DeleteFunc(l.files, func(_ string, f *file) bool {
		if !f.mu.TryLock() {
			return false
		}
		defer f.mu.Unlock()
		f.now, f.read = nil, 0
		return !f.had || !l.o.Enforce
	})
	l.sweepAt = len(l.areas) + mostAreas
}

// candidates lists the real paths of the folders that may contain a lock for a folder with skills.
// First are the folder and its parents, then the parents of each link in its path, and last the
// folder of the lock for all projects. all contains all these folders. own contains those in which
// a lock counts even if it cannot be read.
func (l *Locks) candidates(folder, real string) (own, all []string) {
	projects := l.o.Projects()
	add := func(folder string) {
		ours, others := Above(folder, l.o.Home, projects)
		own, all = append(own, ours...), slices.Concat(all, ours, others)
	}
	add(real)
	for _, link := range realpath.Links(folder) {
		add(filepath.Dir(link))
	}
	if l.o.Global != "" {
		global := realpath.Of(l.o.Global)
		own, all = append(own, global), append(all, global)
	}
	seen := map[string]bool{}
	return own, slices.DeleteFunc(all, func(at string) bool {
		again := seen[at]
		seen[at] = true
		return again
	})
}

// Above lists the folders that may contain the lock of a folder with skills, given the real path of
// the latter. It does not list the folder of the lock for all projects. own contains the folder and
// its parents up to its project. The project is the root of the repository. Outside a repository,
// it is an open project, or the folder that contains a default folder such as .agents/skills. The
// home folder is never a project. A repository in .agents, or one that is the folder itself, is not
// the project, since any program could hide the lock above with an empty .git. others contains
// further parents outside a repository. A lock there may belong to another user.
func Above(folder, home string, projects []string) (own, others []string) {
	holder := ""
	switch slash := filepath.ToSlash(folder); {
	case strings.HasSuffix(slash, "/"+agents.SkillsFolder):
		holder = filepath.Dir(filepath.Dir(folder))
	case filepath.Base(folder) == agents.Folder: // with a link to the skills
		holder = filepath.Dir(folder)
	}
	if realpath.Same(holder, home) {
		holder = ""
	}
	chain := dir.Project(folder, home)
	if len(chain) > 1 && dir.InRepository(folder, home) && (holder == "" || slices.Contains(chain, holder)) {
		return chain, nil
	}
	most := max(outside, len(dir.Repository(folder))-1) // a repository around the home folder
	ends := []string{holder}
	for _, p := range projects {
		if below, ok := console.Below(folder, realpath.Of(p)); ok && below != "." {
			ends, most = append(ends, realpath.Of(p)), max(most, strings.Count(below, "/")+1)
		}
	}
	own = []string{folder}
	for at := folder; len(own)+len(others) <= most && filepath.Dir(at) != at; {
		at = filepath.Dir(at)
		if others = append(others, at); slices.Contains(ends, at) && !realpath.Same(at, home) {
			own, others = append(own, others...), nil
		}
	}
	return own, others
}

// find returns the lock of a skill, or nil, and the skill's key in the lock. It compares real
// folders. Several locks can apply to the place of a skill, and to the place of a link that leads
// to it. The first of them that contains the skill wins. If none contains it, find returns the
// first lock, since a root with a lock serves only locked skills.
func (l *Locks) find(b *skill.Bundle, turn uint64) (*lock, string) {
	if b.In == nil || b.In.Dir == "" {
		return nil, "" // not on a disk
	}
	root := l.area(b.In.Dir, turn)
	real, locks := l.real(b, turn), root.locks
	if b.Link() != "" {
		locks = slices.Concat(l.area(filepath.Dir(real), turn).locks, locks)
	} else if lock, key := root.copyOf(real); lock != nil {
		return lock, key
	}
	for _, lock := range locks {
		if lock.fault != nil {
			return lock, ""
		}
		if key, has := lock.keyOf(real); has {
			return lock, key
		}
	}
	if len(locks) == 0 {
		return nil, ""
	}
	key, _ := locks[0].keyOf(real)
	return locks[0], key
}

// real returns the real folder of a skill on a disk.
func (l *Locks) real(b *skill.Bundle, turn uint64) string {
	if b.Link() != "" {
		return b.Link()
	}
	return filepath.Join(l.area(b.In.Dir, turn).real, filepath.FromSlash(b.Path))
}

// isCopy reports whether a skill is a copy of a locked one in the folder of a client.
func (l *Locks) isCopy(b *skill.Bundle) bool {
	if b.In == nil || b.In.Dir == "" || b.Link() != "" {
		return false
	}
	root := l.area(b.In.Dir, 0)
	lock, _ := root.copyOf(filepath.Join(root.real, filepath.FromSlash(b.Path)))
	return lock != nil
}

// Locked implements [catalog.Provenance].
func (l *Locks) Locked(e *catalog.Entry, files func() ([]skill.File, error)) catalog.Locked {
	lock, key := l.find(e.Bundle, 0)
	if lock == nil {
		return catalog.Locked{}
	}
	locked := l.stateOf(e.Skill, lock, key, files)
	if l.o.Enforce && locked.State != catalog.AsLocked {
		locked.Refused = &skill.LockError{Changed: locked.State == catalog.Changed, Message: locked.Reason, Fix: locked.Fix}
	}
	l.note(e, locked)
	return locked
}

// stateOf returns the state of a skill that has a lock.
func (l *Locks) stateOf(s *skill.Skill, lock *lock, key string, files func() ([]skill.File, error)) catalog.Locked {
	entry, has := lock.entry(key)
	locked := catalog.Locked{
		State: catalog.AsLocked, Source: display.RedactURI(entry.Source), Want: entry.Want, Version: entry.Version, Revision: entry.Revision,
		Signer: entry.Signer, Pinned: entry.Pinned, Digest: entry.Digest,
	}
	refused := func(err *skill.LockError) catalog.Locked {
		locked.State, locked.Reason, locked.Fix = catalog.NotLocked, err.Message, err.Fix
		switch {
		case err.Changed:
			locked.State = catalog.Changed
		case lock.fault != nil:
			locked.State = catalog.Incomparable
		}
		return locked
	}
	if err, ok := errors.AsType[*skill.LockError](s.Fault()); ok {
		return refused(err) // a scan has already compared it
	}
	if lock.fault != nil || !has {
		return refused(l.without(lock, s.Bundle, key))
	}
	all, err := files()
	if errors.Is(err, skill.ErrTooLarge) && isLarge(entry) {
		all, err = s.LargeManifest(context.Background(), nil, origin.MaxFiles, origin.MaxSize)
	}
	fault, err := lock.compare(s, key, entry, all, err)
	switch {
	case err != nil:
		locked.State, locked.Reason = catalog.Incomparable, skill.Reason(err)
	case fault != nil:
		return refused(fault)
	}
	return locked
}

// note logs a changed skill once. It logs the skill again only after the skill has matched its lock
// in between.
func (l *Locks) note(e *catalog.Entry, locked catalog.Locked) {
	at := e.Dir()
	l.logMu.Lock()
	before, known := l.states[at]
	if !known && len(l.states) >= mostStates {
		clear(l.states) // most of these skills no longer exist, since a catalogue has fewer
	}
	l.states[at] = locked.State
	l.logMu.Unlock()
	switch {
	case before == locked.State:
	case locked.State == catalog.Changed || locked.State == catalog.NotLocked:
		reason := cmp.Or(locked.Reason, locked.Words())
		l.o.Log.Warn("skill not as locked", "at", e.Root.LocalName()+"/"+e.Path, "reason", reason, "fix", locked.Fix)
		if !l.o.Enforce { // otherwise the scan has reported it
			l.drift(e.Bundle, reason, false)
		}
	case before == catalog.Changed && locked.State == catalog.AsLocked:
		l.o.Log.Info("skill as locked again", "at", e.Root.LocalName()+"/"+e.Path)
	}
}

func (l *Locks) drift(b *skill.Bundle, reason string, refused bool) {
	if l.o.Drift != nil {
		l.o.Drift(b.In.LocalName()+"/"+b.Path, reason, refused)
	}
}

// Drift implements [catalog.Provenance].
func (l *Locks) Drift(s *catalog.Snapshot) (n int) {
	l.logMu.Lock()
	defer l.logMu.Unlock()
	for _, e := range s.Entries {
		err, faulty := errors.AsType[*skill.LockError](e.Fault())
		if faulty && err.Changed || !faulty && l.states[e.Dir()] == catalog.Changed {
			n++
		}
	}
	return n
}

// Locks implements [catalog.Provenance].
func (l *Locks) Locks(s *catalog.Snapshot) (all []catalog.LockStatus) {
	there := map[string]map[string]bool{} // real folders of the skills on the disk, by the folder of their lock
	for _, e := range s.Entries {
		if lock, key := l.find(e.Bundle, 0); lock != nil && !l.isCopy(e.Bundle) {
			if there[lock.folder] == nil {
				there[lock.folder] = map[string]bool{}
			}
			there[lock.folder][lock.reals[key]] = true
		}
	}
	locks := map[string]*lock{} // by folder, so that each is listed once
	labels := map[string]string{}
	roots := map[string][]string{} // real paths, by the folder of the lock
	for _, r := range s.Roots {
		if r.Dir == "" || r.Late() || r.Missing && filepath.Base(filepath.Dir(r.Dir)) != agents.Folder {
			continue // of missing folders, only the default folder of installed skills has a lock
		}
		a := l.area(r.Dir, 0)
		for _, lock := range a.locks {
			at := lock.folder
			locks[at], labels[at] = lock, cmp.Or(labels[at], r.Label)
			roots[at] = append(roots[at], a.real)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(locks)) {
		lock := locks[at]
		status := catalog.LockStatus{Name: l.name(lock, labels[at]), Skills: len(lock.skills), Restore: lock.line("sync")}
		if lock.fault != nil {
			status.Reason, status.Fix = lock.fault.Message, lock.fault.Fix
		}
		for _, key := range slices.Sorted(maps.Keys(lock.skills)) {
			real := lock.reals[key]
			if there[at][real] || !slices.ContainsFunc(roots[at], func(root string) bool { return realpath.Within(root, real) }) {
				continue
			}
			if status.NMissing++; len(status.Missing) < missingShown {
				e := lock.skills[key]
				status.Missing = append(status.Missing, catalog.MissingSkill{Folder: key, Name: e.Name, Source: display.RedactURI(e.Source), Version: e.Version})
			}
		}
		all = append(all, status)
	}
	return all
}

// name returns the name of a lock for users.
func (l *Locks) name(f *lock, label string) string {
	if l.o.Shown == nil {
		return lockfile.Name + " of " + label
	}
	return path.Join(filepath.ToSlash(l.o.Shown(f.folder)), lockfile.Name)
}
