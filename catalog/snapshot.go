package catalog

import (
	"encoding/hex"
	"errors"
	"iter"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
)

// Status is the state of a skill in the merged view.
type Status string

// The statuses. A shadowed skill is reachable as "<root label>:<name>" and by its URI.
// A copy is a shadowed skill with the same files as an earlier one of that name. An
// unlisted skill belongs to a root that is in no list ([skill.Root.Unlisted]). A skipped
// skill is not served at all, and always has a reason.
const (
	Available Status = "available"
	Shadowed  Status = "shadowed"
	Copy      Status = "copy"
	Unlisted  Status = "unlisted"
	Skipped   Status = "skipped"
)

// Entry is one skill in its place in the merged view.
type Entry struct {
	*skill.Skill
	Root   *skill.Root // shared by all of its entries in a snapshot
	Status Status
	// Tail is the path of the skill's folder in the URI, after the root's prefix. If Tail begins
	// with a slash, the rest of it is the whole path, without the prefix. It is "" for a skipped
	// skill. See [Entry.Base].
	Tail string
	// By is the entry that shadows this one. For a copy, it is the original. It may be set for an
	// unlisted entry too.
	By *Entry
	// Key is the folded name.
	Key skill.Key
}

// ModelVisible reports whether the skill is in listings for models, and can be loaded by
// name through the tools.
func (e *Entry) ModelVisible() bool { return e.Status == Available && e.ModelInvocable }

// Unlisted reports whether the skill is in no list and no search, because its root, or another root
// that contains a copy of it, is unlisted.
func (e *Entry) Unlisted() bool { return e.Root.Unlisted || e.Status == Unlisted }

// Called returns the name that loads the skill. That is its own name or, if another skill answers
// to that, "<root label>:<name>". If that is ambiguous too, as between two skills of one root, it
// is a name by place.
func (s *Snapshot) Called(e *Entry) string {
	for name := range s.Names(e) {
		return name
	}
	return e.URI().String()
}

// Names returns the names by which [Snapshot.Named] finds the skill: its own name, "<root
// label>:<name>", and its names by place. Names by place are unique in the root: "<root
// label>:<folder>:<folder>" and "<root label>:~<digest of its URI>".
func (s *Snapshot) Names(e *Entry) iter.Seq[string] {
	return func(yield func(string) bool) {
		place := strings.ReplaceAll(e.Path, "/", ":")
		for _, name := range []string{e.Name, e.qualified(), e.Root.Label + ":" + place, e.Root.Label + ":" + e.digestName()} {
			if s.Named(name) == e && !yield(name) {
				return
			}
		}
	}
}

// Base returns the path of the skill's folder in the URI, or "" for a skipped skill.
func (e *Entry) Base() string {
	prefix, at := e.base()
	return join(prefix, at)
}

// base returns Base in two parts, without allocating. The first part may be empty.
func (e *Entry) base() (prefix, at string) {
	switch {
	case e.Tail == "":
		return "", ""
	case e.Tail[0] == '/':
		return "", e.Tail[1:]
	}
	return e.Root.Prefix, e.Tail
}

// IsNamedByURI reports whether the skill's URI ends with its name, as the Skills extension
// (SEP-2640) and the discovery index require.
func (e *Entry) IsNamedByURI() bool { return path.Base(e.Base()) == e.Name }

// SameURI reports whether two entries have the same URI, or both have no URI.
func (e *Entry) SameURI(o *Entry) bool {
	prefix, at := e.base()
	if otherPrefix, other := o.base(); prefix == otherPrefix {
		return at == other
	}
	return e.Base() == o.Base()
}

// URI returns the URI of SKILL.md. It is zero for a skipped skill.
func (e *Entry) URI() skill.URI {
	if e.Tail == "" {
		return skill.URI{}
	}
	uri, _ := skill.MainURI(e.base()) // the base of an entry is always valid
	return uri
}

// digestName returns a name that identifies a skill among the others of its root. It is for a skill
// whose path cannot serve as a name. It has only characters that every contract accepts.
func (e *Entry) digestName() string {
	d := skill.DigestOf([]byte(e.URI().String()))
	return "~" + hex.EncodeToString(d[:6])
}

// qualified returns "<root label>:<name>", which names a shadowed skill.
func (e *Entry) qualified() string { return e.Root.Label + ":" + e.Name }

// FileText returns the text of [Entry.FileURI], for a file that was listed.
func (e *Entry) FileText(path string) (string, error) {
	prefix, at := e.base()
	switch plain := at != "" && skill.Plain(at) && skill.Plain(path); { // nearly always
	case plain && prefix == "":
		return skill.Scheme + at + "/" + path, nil
	case plain && skill.Plain(prefix):
		return skill.Scheme + prefix + "/" + at + "/" + path, nil
	}
	u, err := e.FileURI(path)
	return u.String(), err
}

// FileURI returns the URI of one of the skill's files by its served path.
func (e *Entry) FileURI(path string) (skill.URI, error) { return skill.NewURI(e.Base() + "/" + path) }

// RootStatus is one root as the last scan found it.
type RootStatus struct {
	skill.Root
	Missing bool  // a well-known root that does not exist
	Err     error // why it could not be read; its last good skills stay
	Notices []skill.Notice
	Count   int    // skills found, in any status
	Led     string // path of the root with links resolved when it was scanned; see [skill.Scan.Real]
}

// RootState is the state of a root in a few words.
type RootState string

// The states. After the first attempt to read a root, its state is never RootReading again.
const (
	RootRead        RootState = "read"
	RootAbsent      RootState = "not there"
	RootReading     RootState = "being read"     // for the first time: its skills may follow in a moment
	RootLate        RootState = "late"           // it was read before, and does not answer now
	RootUnreachable RootState = "unreachable"    // a remote source without any skills here
	RootUnreadable  RootState = "cannot be read" // its last good skills stay
)

// State returns the state of the root. All surfaces use it to distinguish the states.
func (r RootStatus) State() RootState {
	switch {
	case errors.Is(r.Err, errUnread):
		return RootReading
	case errors.Is(r.Err, ErrLate):
		return RootLate
	case r.Err != nil:
		if _, ok := errors.AsType[*skill.UnreachableError](r.Err); ok {
			return RootUnreachable
		}
		return RootUnreadable
	case r.Missing:
		return RootAbsent
	}
	return RootRead
}

// IsAbsent reports whether the root does not exist, without an error or notice about it.
func (r RootStatus) IsAbsent() bool { return r.Missing && r.Err == nil && len(r.Notices) == 0 }

// Late reports whether the root is still being read; see [ErrLate].
func (r RootStatus) Late() bool { return r.State() == RootReading || r.State() == RootLate }

// Unread reports whether no scan run of the root has ended yet, so that its contents are unknown. A
// root that is absent or cannot be read was scanned.
func (r RootStatus) Unread() bool { return r.State() == RootReading }

// Reason explains why the root could not be read, and names the fix. Neither text contains a path
// of the machine. Both are empty if the root was read.
func (r RootStatus) Reason() (reason, fix string) {
	switch {
	case r.Err == nil:
		return "", ""
	case r.Late() && realpath.Silent(r.Dir):
		return skill.FolderReason(skill.ErrSilent)
	case r.Late() && r.Dir == "": // a remote source
		return ErrLate.Error(), "ask again in a while; the server's log says whether its source answers"
	case r.Late():
		return ErrLate.Error(), "ask again in a while; if it stays so, see whether its disk answers"
	}
	return skill.FolderReason(r.Err)
}

// Snapshot is one immutable state of the merged view. Nothing in it changes after it
// is published, so it may be shared without locks.
type Snapshot struct {
	// Version counts the changes of the whole, including those that a filter hides.
	// Clients with a restricted filter must not see it.
	Version uint64
	Roots   []RootStatus
	// Entries has all skills in root order, then path order.
	Entries []*Entry
	// Listed has the skills that a model sees, in root order, then by name.
	Listed []*Entry
	// Skipped has the skills that are not served.
	Skipped []*Entry

	searched []*Entry  // Listed, the skills withheld from models, the shadowed skills except copies, then the unlisted
	indexing *indexing // the index of searched; snapshots that share searched share it
	// whole is the snapshot that this one is a part of, else nil. The two share entries and the
	// contents of their indexes.
	whole *Snapshot

	spans    []span                 // of Entries
	named    []*Entry               // served, the first of each key in root order; sorted by key
	clashes  map[skill.Key][]*Entry // all entries of each ambiguous key, in root order
	moved    map[string]*Entry      // served skills whose [Entry.Base] is not the path of their folder, by base; empty in a part
	reserved map[rootPath]*Entry    // withheld from models, by the path in lower case
	longest  int                    // the length of the longest [Entry.Base]
	blocked  map[string]*Entry      // skills by the path of their URI; see [Snapshot.Blocked]

	clients map[string]*ClientSkills // the skills that clients show on their own, by the client's name

	files map[*skill.Skill]skill.Digest // of the files of skills that have the same SKILL.md as another one

	foldersOnce sync.Once
	folders     []*Entry // all entries, by folder, then in root order

	found atomic.Pointer[[]foundRoot] // the scan from which it was built, or a later one with the same result

	complete atomic.Pointer[[]skill.Root] // the sources' wanted roots for which it is known that all listed ones were read
	filtered filterCache

	servedOnce sync.Once
	served     []*Entry

	invocableOnce sync.Once
	invocable     []*Entry

	fingerprintsOnce sync.Once
	fingerprints     Fingerprints

	values atomic.Pointer[[]derived] // the newest first; see [Keep]
}

// maxKept bounds the values that [Keep] caches for one snapshot, and so the kinds of clients.
const maxKept = 32

// Keep returns the value that make returns for a snapshot, cached by key. Clients choose the keys,
// so the newest value replaces the oldest if there are more than maxKept.
func Keep[K comparable, V any](s *Snapshot, key K, make func() V) V {
	old, before := s.values.Load(), []derived(nil)
	if old != nil {
		before = *old
	}
	for _, d := range before {
		if k, ok := d.key.(K); ok && k == key {
			return d.value.(V)
		}
	}
	all := append([]derived{{key, make()}}, before[:min(len(before), maxKept-1)]...)
	s.values.CompareAndSwap(old, &all) // if this fails, another caller was faster, and the value will be made again
	return all[0].value.(V)
}

// derived is a value that [Keep] caches.
type derived struct{ key, value any }

// basis returns the roots that the snapshot shows, as the last scan found them.
func (s *Snapshot) basis() []foundRoot {
	if s == nil || s.found.Load() == nil {
		return nil
	}
	return *s.found.Load()
}

// restated returns the snapshot with a new status of its roots. It shares everything else, so a
// disk that is late now and then does not cause a rebuild.
func (s *Snapshot) restated(found []foundRoot) *Snapshot {
	n := &Snapshot{
		Version: s.Version + 1, Entries: s.Entries, Listed: s.Listed, Skipped: s.Skipped,
		searched: s.searched, indexing: s.indexing.renew(), spans: s.spans, named: s.named, clashes: s.clashes,
		moved: s.moved, reserved: s.reserved, longest: s.longest, blocked: s.blocked, files: s.files,
	}
	for _, f := range found {
		status := f.status
		status.Count = len(f.skills)
		n.Roots = append(n.Roots, status)
	}
	n.found.Store(&found)
	return n
}

// View is a snapshot as one request's client may see it.
type View struct {
	*Snapshot
	catalog *Catalog
	filter  *Filter // the filter of the snapshot; nil shows all
}

// Narrowed reports whether a [Filter] restricts the view. A narrowed view may lack skills,
// and its Version counts changes of skills that it does not show.
func (v View) Narrowed() bool { return v.filter != nil }

// Uses returns how often a skill was used, or 0 if uses are not counted. It is 0 in a narrowed
// view, whose lists would otherwise reveal the use by other callers.
func (v View) Uses(e *Entry) uint64 {
	if v.catalog == nil || v.catalog.uses == nil || v.Narrowed() {
		return 0
	}
	return v.catalog.uses(e)
}

// Whole reports whether the view shows every skill, present or future.
func (v View) Whole() bool { return v.filter == nil || v.filter.Whole }

// span is the range of the entries of one root, in path order.
type span struct {
	label    string
	from, to int
}

// samePlace finds the entry in the same place in this snapshot.
func (s *Snapshot) samePlace(e *Entry) *Entry { return s.placedAt(e.Root.Label, e.Path) }

// placedAt finds the entry of a root by the path of its folder.
func (s *Snapshot) placedAt(label, path string) *Entry {
	for _, sp := range s.spans {
		if sp.label != label {
			continue
		}
		if i, ok := s.find(sp, path); ok {
			return s.Entries[i]
		}
	}
	return nil
}

// find returns the index of the entry of a root with a path.
func (s *Snapshot) find(sp span, path string) (int, bool) {
	i, ok := slices.BinarySearchFunc(s.Entries[sp.from:sp.to], path, func(e *Entry, path string) int { return strings.Compare(e.Path, path) })
	return sp.from + i, ok
}

// inFolder returns the entries whose folder has the given name, in root order.
func (s *Snapshot) inFolder(name string) []*Entry {
	s.foldersOnce.Do(func() {
		s.folders = slices.Clone(s.Entries)
		slices.SortStableFunc(s.folders, func(a, b *Entry) int { return strings.Compare(a.Folder(), b.Folder()) })
	})
	begin, _ := slices.BinarySearchFunc(s.folders, name, func(e *Entry, name string) int { return strings.Compare(e.Folder(), name) })
	end := begin
	for end < len(s.folders) && s.folders[end].Folder() == name {
		end++
	}
	return s.folders[begin:end]
}
