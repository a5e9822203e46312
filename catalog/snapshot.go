package catalog

import (
	"encoding/hex"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/knack-dev/knack/skill"
)

// Status says what became of a skill in the merged view.
type Status string

// The statuses. A shadowed skill is reachable as "<root label>:<name>" and by
// its URI; a copy is a shadowed one with the same SKILL.md as one of that name
// before it; an unlisted one is of a root that is in no list ([skill.Root.Unlisted]); a
// skipped one is served by nothing and always has a reason.
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
	Root   *skill.Root // one for all entries of it in a snapshot
	Status Status
	// Tail is the path of its folder in the URI, behind what its root's begin with; with a
	// slash before it, the whole path. It is "" for a skipped skill. See [Entry.Base].
	Tail string
	// By is the entry that shadows this one; of a copy, the one that it is a copy of. An
	// unlisted one may have it too.
	By *Entry
	// Key is the folded name.
	Key skill.Key
}

// ModelVisible: in listings for models, and loadable by name through the tools.
func (e *Entry) ModelVisible() bool { return e.Status == Available && e.ModelInvocable }

// Called is the name that loads the skill: its own, "<root label>:<name>" where
// another one answers to that, or where that pair means another one too, as
// between two of one root, one of its place.
func (s *Snapshot) Called(e *Entry) string {
	for name := range s.Names(e) {
		return name
	}
	return e.URI().String()
}

// Names are the names that [Snapshot.Named] finds the skill by: its own,
// "<root label>:<name>", and those of its place, which mean no other skill of its
// root: "<root label>:<folder>:<folder>" and "<root label>:~<digest of its URI>".
func (s *Snapshot) Names(e *Entry) iter.Seq[string] {
	return func(yield func(string) bool) {
		place := strings.ReplaceAll(e.Path, "/", ":")
		for _, name := range []string{e.Name, e.Qualified(), e.Root.Label + ":" + place, e.Root.Label + ":" + e.mark()} {
			if s.Named(name) == e && !yield(name) {
				return
			}
		}
	}
}

// Base is the path of its folder in the URI, "" for a skipped skill.
func (e *Entry) Base() string {
	prefix, at := e.base()
	return join(prefix, at)
}

// base is Base in two parts, of which the first may be empty, that need no memory of
// their own.
func (e *Entry) base() (prefix, at string) {
	switch {
	case e.Tail == "":
		return "", ""
	case e.Tail[0] == '/':
		return "", e.Tail[1:]
	}
	return e.Root.Prefix, e.Tail
}

// SameURI reports whether two entries have the same URI, or none.
func (e *Entry) SameURI(o *Entry) bool {
	prefix, at := e.base()
	if otherPrefix, other := o.base(); prefix == otherPrefix {
		return at == other
	}
	return e.Base() == o.Base()
}

// URI addresses SKILL.md. It is zero for a skipped skill.
func (e *Entry) URI() skill.URI {
	if e.Tail == "" {
		return skill.URI{}
	}
	uri, _ := skill.MainURI(e.base()) // no entry has a base that is none
	return uri
}

// mark tells a skill from the others of its root where its path does not serve as
// a name: it has nothing in it that any contract refuses.
func (e *Entry) mark() string {
	d := skill.DigestOf([]byte(e.URI().String()))
	return "~" + hex.EncodeToString(d[:6])
}

// Qualified is "<root label>:<name>", which names a shadowed skill.
func (e *Entry) Qualified() string { return e.Root.Label + ":" + e.Name }

// FileText is the text of FileURI, for a file that was listed.
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

// FileURI is the URI of one of the skill's files by its served path.
func (e *Entry) FileURI(path string) (skill.URI, error) { return skill.NewURI(e.Base() + "/" + path) }

// RootStatus is one root as the last scan found it.
type RootStatus struct {
	skill.Root
	Missing bool  // a well-known root that is not there
	Err     error // why it could not be read; its last good skills stay in force
	Notices []skill.Notice
	Count   int // skills found, in any status
}

// Late reports whether the root is still being read; see [ErrLate].
func (r RootStatus) Late() bool { return errors.Is(r.Err, ErrLate) }

// Unread reports whether the root is late from its first look on, so that nothing is
// known of it. One that is absent or cannot be read was looked at.
func (r RootStatus) Unread() bool { return errors.Is(r.Err, errUnread) }

// Reason says in words why the root is not read, and what to do: no path of the
// machine in it. Both are empty where it is.
func (r RootStatus) Reason() (reason, mend string) {
	switch {
	case r.Err == nil:
		return "", ""
	case r.Late():
		return ErrLate.Error(), "ask again in a while; if it stays so, see whether its disk answers"
	}
	return skill.FolderReason(r.Err)
}

// Snapshot is one immutable state of the merged view. Nothing in it changes
// after it was published, so it may be shared without locks.
type Snapshot struct {
	// Version counts the changes of the whole, those too that a restricted sight hides:
	// it tells nothing to whom it is not shown.
	Version uint64
	Roots   []RootStatus
	// Entries are all skills in root order, then path order.
	Entries []*Entry
	// Listed are those that a model sees, in root order, then by name.
	Listed []*Entry
	// Skipped are those that are not served.
	Skipped []*Entry

	searched []*Entry  // Listed, those kept from models, the shadowed that differ, then the unlisted
	indexing *indexing // of searched; shared where that is
	// whole is the snapshot of which this one shows a part, else nil. They share
	// entries, and their indexes what they hold.
	whole *Snapshot

	spans    []span                 // of Entries
	byKey    map[skill.Key]*Entry   // not skipped, the first in root order; of a part, those that clash in the whole
	clashes  map[skill.Key][]*Entry // all of a key that several have, in root order
	byBase   bases                  // not skipped; of a whole
	reserved map[place]*Entry       // not for models, by the path in lower case
	longest  int                    // the length of the longest key of byBase
	blocked  map[string]*Entry      // by the path of their URI; see [Snapshot.Blocked]

	foldersOnce sync.Once
	folders     []*Entry // all, by folder, then in root order

	found atomic.Pointer[[]foundRoot] // what it was built from, or a later scan of which it would be the same

	seen seen

	servedOnce sync.Once
	served     []*Entry

	invocableOnce sync.Once
	invocable     []*Entry

	marksOnce sync.Once
	marks     Marks

	kept  sync.Map // see [Snapshot.Keep]
	keeps atomic.Int64
}

// maxKept bounds what is kept of one snapshot: clients of so many kinds ask at a time.
const maxKept = 32

// Keep returns what make has made of the snapshot. It is made once for a key, which must
// be comparable, and goes with the snapshot; for keys beyond the bound it is made each time.
func (s *Snapshot) Keep(key any, make func() any) any {
	if v, ok := s.kept.Load(key); ok {
		return v
	}
	v := make()
	if s.keeps.Load() < maxKept {
		if _, there := s.kept.LoadOrStore(key, v); !there {
			s.keeps.Add(1)
		}
	}
	return v
}

// basis is what the snapshot shows, as the last scan found it.
func (s *Snapshot) basis() []foundRoot {
	if found := s.found.Load(); found != nil {
		return *found
	}
	return nil
}

// restated is the snapshot with something else said of its roots: a disk that answers
// late, now and then, is not to have everything made again.
func (s *Snapshot) restated(found []foundRoot) *Snapshot {
	n := &Snapshot{
		Version: s.Version + 1, Entries: s.Entries, Listed: s.Listed, Skipped: s.Skipped,
		searched: s.searched, indexing: s.indexing.again(), spans: s.spans, byKey: s.byKey, clashes: s.clashes,
		byBase: s.byBase, reserved: s.reserved, longest: s.longest, blocked: s.blocked,
	}
	for _, f := range found {
		status := f.status
		status.Count = len(f.skills)
		n.Roots = append(n.Roots, status)
	}
	n.found.Store(&found)
	return n
}

// View is what one request reads: a snapshot, as the one who asks may see it.
type View struct {
	*Snapshot
	catalog *Catalog
	sight   *Sight // what the snapshot was narrowed by; nil for one who sees all
}

// Narrowed reports whether the view is of somebody whose sight is restricted: it may
// lack skills, and its Version counts changes of what it does not show.
func (v View) Narrowed() bool { return v.sight != nil }

// span is where the entries of one root are, in path order.
type span struct {
	label    string
	from, to int
}

// at finds the entry in the same place in this snapshot.
func (s *Snapshot) at(e *Entry) *Entry { return s.placedAt(e.Root.Label, e.Path) }

// placedAt finds the entry of a root by the path of its folder.
func (s *Snapshot) placedAt(label, path string) *Entry {
	for _, sp := range s.spans {
		if sp.label != label {
			continue
		}
		entries := s.Entries[sp.from:sp.to]
		if i, ok := slices.BinarySearchFunc(entries, path, func(e *Entry, path string) int { return strings.Compare(e.Path, path) }); ok {
			return entries[i]
		}
	}
	return nil
}

// inFolder are the entries whose folder has a name, in root order.
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
