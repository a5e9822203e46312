package catalog

import (
	"cmp"
	"encoding/binary"
	"io/fs"
	"maps"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/knack-dev/knack/skill"
)

// build merges the roots in their order: first match wins, nothing is dropped. One of
// many skills that everybody waits for, since there were none, is made with every
// processor.
func build(found []foundRoot, awaited bool) *Snapshot {
	s := newSnapshot(countOf(found), nil)
	for _, f := range found {
		status := f.status
		status.Count = len(f.skills)
		s.Roots = append(s.Roots, status)
		s.addRoot(&f, awaited)
	}
	s.shadow()
	return s
}

// pause lets calls have the processor now and then: where a refresh and what follows
// from it have all of them, a call waits for the end of a time slice, 10 ms, for each
// goroutine that it passes through.
func pause(i int) {
	if i%pauseEvery == 0 {
		runtime.Gosched()
	}
}

// pauseEvery is how many skills take some tenths of a millisecond.
const pauseEvery = 128

// newSnapshot makes one with room for n skills: a part of a whole, or one of its
// own.
func newSnapshot(n int, whole *Snapshot) *Snapshot {
	s := &Snapshot{
		Version:  1,
		whole:    whole,
		indexing: &indexing{done: make(chan struct{})},
		Entries:  make([]*Entry, 0, n),
		Listed:   make([]*Entry, 0, n),
		clashes:  map[skill.Key][]*Entry{},
		reserved: map[place]*Entry{},
	}
	if whole == nil {
		s.byKey = make(map[skill.Key]*Entry, n)
	} else {
		s.byKey = map[skill.Key]*Entry{} // those that clash; the others are the whole's
	}
	return s
}

func (s *Snapshot) addRoot(f *foundRoot, awaited bool) {
	root := new(skill.Root) // one for all of its entries
	*root = f.status.Root
	made := make([]Entry, len(f.skills)) // at once: there are many, and they live and die together
	paths := paths{root, f.claimed, foldersOf(f.skills), root.Prefix == "" || skill.CleanPath(root.Prefix) == nil}
	inParts(len(made), awaited, func(i int) {
		sk := f.skills[i]
		made[i] = Entry{Skill: sk, Root: root, Status: statusIn(root, Available), Key: skill.KeyOf(sk.Name)}
		if !sk.Available {
			made[i].Status = Skipped
			return
		}
		paths.give(&made[i], 0)
	})
	from := len(s.Entries)
	for i := range made {
		pause(i)
		s.add(&made[i])
	}
	s.settleURIs(paths, from)
}

// inParts calls f with each number below n: with every processor, or with one that
// calls may have in between.
func inParts(n int, all bool, f func(int)) {
	parts := min(runtime.GOMAXPROCS(0), n/pauseEvery)
	if !all || parts < 2 {
		for i := range n {
			pause(i)
			f(i)
		}
		return
	}
	var wg sync.WaitGroup
	for part := range parts {
		wg.Go(func() {
			for i := part * n / parts; i < (part+1)*n/parts; i++ {
				f(i)
			}
		})
	}
	wg.Wait()
}

// add takes in an entry, behind those of its root that lie before it.
func (s *Snapshot) add(e *Entry) {
	s.Entries = append(s.Entries, e)
	n := len(s.Entries)
	if k := len(s.spans); k > 0 && s.spans[k-1].label == e.Root.Label {
		s.spans[k-1].to = n
	} else {
		s.spans = append(s.spans, span{e.Root.Label, n - 1, n})
	}
	if !e.ModelInvocable {
		s.reserved[place{e.Root.Label, strings.ToLower(e.Path)}] = e
	}
}

// paths give the skills of a root their paths in the URI space. The last segment is the
// name where that is valid, else the folder's. A name gives way to the folder where it
// would claim what belongs to another: two equal paths, or a path in which another
// skill's folder or file lies.
type paths struct {
	root             *skill.Root
	claimed, folders map[string]bool
	clean            bool // what their URIs begin with, so that what follows decides
}

// give gives an entry the n-th path that it may have, or the next one that may stand in
// a URI, and returns which.
func (p paths) give(e *Entry, n int) int {
	for ; ; n++ {
		prefix, at := p.candidate(e, n)
		if !(p.clean && skill.CleanPath(at) == nil) && skill.CleanPath(join(prefix, at)) != nil {
			continue
		}
		if e.Tail = at; prefix != p.root.Prefix {
			e.Tail = "/" + join(prefix, at)
		}
		return n
	}
}

// settleURIs lets the served skills from a place on keep the paths that they were
// given, or gives them the next that nobody has.
func (s *Snapshot) settleURIs(p paths, from int) {
	for i := from; i < len(s.Entries); i++ {
		pause(i)
		e := s.Entries[i]
		if e.Status == Skipped {
			continue
		}
		for n := 0; s.byBase.find(e.base()) != nil; {
			n = p.give(e, n+1)
		}
		prefix, at := e.base()
		s.byBase.add(prefix, at, e)
		s.longest = max(s.longest, len(prefix)+len("/")+len(at))
	}
}

// foldersOf are the paths of some skills and of all folders above them, but for
// nil where no skill's name gives it another path than its folder: then nobody
// asks.
func foldersOf(skills []*skill.Skill) map[string]bool {
	if !slices.ContainsFunc(skills, func(sk *skill.Skill) bool { _, ok := renamed(sk); return ok }) {
		return nil
	}
	folders := make(map[string]bool, len(skills))
	for _, sk := range skills {
		for p := sk.Path; p != "."; p = parent(p) {
			if folders[p] {
				break
			}
			folders[p] = true
		}
	}
	return folders
}

// candidate is the n-th path that an entry may have, behind a prefix: with its name,
// with its folder's, then ones that nothing else has, without what no URI may hold.
func (p paths) candidate(e *Entry, n int) (prefix, at string) {
	at = folderPath(e.Skill)
	switch n {
	case 0:
		if named, ok := renamed(e.Skill); ok && !p.folders[named] && !p.claimed[named] {
			return p.root.Prefix, named
		}
		fallthrough
	case 1:
		return p.root.Prefix, at
	}
	if skill.CleanPath(at) != nil {
		if named, ok := renamed(e.Skill); ok {
			at = named
		}
		at = sayable(at)
	}
	return p.root.Label, at + strings.Repeat("~", n-2)
}

// sayable writes "~" for what a folder may be called and a path in a URI may not:
// a backslash, a drive letter's colon, percent signs that look like an encoding.
// What comes out can always stand in one.
func sayable(at string) string {
	parts := strings.Split(at, "/")
	for i, part := range parts {
		if skill.CleanPath(part) == nil {
			continue
		}
		parts[i] = strings.NewReplacer("\\", "~", "%", "~", ":", "~", "\x00", "~").Replace(strings.ToValidUTF8(part, "~"))
		if strings.Trim(part, ".") == "" {
			parts[i] = "~"
		}
	}
	return strings.Join(parts, "/")
}

// folderPath is the path of a skill's folder, with a name for the root's own.
func folderPath(sk *skill.Skill) string {
	if sk.Path == "." {
		return sk.Folder()
	}
	return sk.Path
}

// renamed is the path that a skill has by its name, where that is another one.
func renamed(sk *skill.Skill) (string, bool) {
	if len(sk.Problems) == 0 {
		return "", false // nearly always: another name than the folder's is a problem
	}
	at := folderPath(sk)
	if sk.Name == skill.Base(at) || !skill.ValidName(sk.Name) {
		return "", false
	}
	return join(parent(at), sk.Name), true
}

// claim looks which of the paths that skills would have by their names are those
// of a file or folder in a skill around them, so that one URI would name two
// things. It asks the disk, so nobody may hold a lock meanwhile.
func (f *foundRoot) claim(skills ...*skill.Skill) {
	claimed := map[string]bool{}
	for i, sk := range skills {
		pause(i)
		if named, ok := renamed(sk); ok && f.taken(sk, named) {
			claimed[named] = true
		}
	}
	maps.Copy(claimed, f.claimed)
	f.claimed = claimed
}

func (f *foundRoot) taken(sk *skill.Skill, named string) bool {
	for at := sk.Path; at != "."; {
		at = parent(at)
		i, ok := slices.BinarySearchFunc(f.skills, at, func(o *skill.Skill, p string) int { return cmp.Compare(o.Path, p) })
		if ok && f.skills[i].Available {
			rel := strings.TrimPrefix(strings.TrimPrefix(named, at), "/")
			if _, err := fs.Stat(f.skills[i].FS, rel); err == nil {
				return true
			}
		}
	}
	return false
}

func parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i >= 0 {
		return p[:i]
	}
	return "."
}

func join(a, b string) string {
	if a == "" || a == "." {
		return b
	}
	return a + "/" + b
}

// shadow resolves equal names and orders the listing.
func (s *Snapshot) shadow() {
	type content struct {
		key    skill.Key
		digest skill.Digest
	}
	same := map[content]*Entry{} // of the names that clash
	listed := make([]ranked, 0, cap(s.Listed))
	var kept, shadowed, unlisted []*Entry
	for i, e := range s.Entries {
		pause(i)
		if e.Status == Skipped {
			s.Skipped = append(s.Skipped, e)
			continue
		}
		var first *Entry // of that name, where it is not the only one there too
		if s.whole == nil || s.whole.clashes[e.Key] != nil {
			if first = s.byKey[e.Key]; first == nil {
				s.byKey[e.Key] = e
			}
		}
		if first != nil {
			if s.clashes[e.Key] == nil {
				s.clashes[e.Key] = []*Entry{first}
				same[content{e.Key, first.Digest}] = first
			}
			this := content{e.Key, e.Digest}
			if one := same[this]; one != nil {
				e.By, e.Status = one, statusIn(e.Root, Copy)
			} else {
				e.By, e.Status, same[this] = first, statusIn(e.Root, Shadowed), e
			}
			s.clashes[e.Key] = append(s.clashes[e.Key], e)
		}
		switch {
		case e.ModelVisible():
			listed = append(listed, ranked{headOf(e.Key), e})
		case e.Status == Available:
			kept = append(kept, e)
		case e.Status == Shadowed:
			shadowed = append(shadowed, e)
		case e.Status == Unlisted && (e.By == nil || e.By.Digest != e.Digest):
			unlisted = append(unlisted, e)
		}
	}
	for rest := listed; len(rest) > 0; { // in root order already
		n := 1
		for n < len(rest) && rest[n].Root.Label == rest[0].Root.Label {
			n++
		}
		slices.SortFunc(rest[:n], byRank)
		rest = rest[n:]
	}
	for _, r := range listed {
		s.Listed = append(s.Listed, r.Entry)
	}
	if s.searched = slices.Clip(s.Listed); len(kept)+len(shadowed)+len(unlisted) > 0 {
		s.searched = slices.Concat(s.Listed, kept, shadowed, unlisted)
	}
}

// statusIn is a status of a skill that is served, in its root.
func statusIn(root *skill.Root, s Status) Status {
	if root.Unlisted {
		return Unlisted
	}
	return s
}

// ranked is an entry with the first eight bytes of its key, by which nearly all that are
// compared differ: the entries themselves are far apart in memory.
type ranked struct {
	head uint64
	*Entry
}

func headOf(key skill.Key) uint64 {
	var first [8]byte
	copy(first[:], key)
	return binary.BigEndian.Uint64(first[:])
}

// byRank is byName.
func byRank(a, b ranked) int {
	if a.head != b.head {
		return cmp.Compare(a.head, b.head)
	}
	return byName(a.Entry, b.Entry)
}

// byName is the order of a root's skills in a list.
func byName(a, b *Entry) int {
	if order := strings.Compare(string(a.Key), string(b.Key)); order != 0 {
		return order
	}
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
}

// Place is where a skill's file lies, in every answer: ".claude/skills/git/SKILL.md", or
// with the label of the root in place of its folder; see [skill.Root.Name].
func (e *Entry) Place() string { return e.placeIn(e.Root.Name()) }

// LocalPlace is Place for the log; see [skill.Root.LocalName].
func (e *Entry) LocalPlace() string { return e.placeIn(e.Root.LocalName()) }

func (e *Entry) placeIn(root string) string {
	file := e.Entry
	if file == "" && len(e.Others()) > 0 {
		file = e.Others()[0]
	}
	return path.Join(root, e.Path, file)
}
