package catalog

import (
	"cmp"
	"runtime"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// build merges the skills of the roots, in the order of the roots. Of skills with the same name,
// the first one wins, and the others are shadowed, not dropped.
func build(found []foundRoot) *Snapshot {
	s := newSnapshot(nil)
	for _, f := range found {
		status := f.status
		status.Count = len(f.skills)
		s.Roots = append(s.Roots, status)
		s.addRoot(&f)
	}
	s.shadow()
	return s
}

// pause yields the processor to calls now and then. Otherwise, while a refresh and its follow-up
// work occupy every processor, a call waits for a time slice (10 ms) in each of its goroutines. 128
// skills take some tenths of a millisecond.
func pause(i int) {
	if i%128 == 0 {
		runtime.Gosched()
	}
}

// newSnapshot returns an empty snapshot. If whole is not nil, the caller fills the new snapshot
// with a part of whole.
func newSnapshot(whole *Snapshot) *Snapshot {
	files := map[*skill.Skill]skill.Digest{}
	if whole != nil {
		files = whole.files
	}
	return &Snapshot{
		Version:  1,
		files:    files,
		whole:    whole,
		indexing: &indexing{done: make(chan struct{})},
		clashes:  map[skill.Key][]*Entry{},
		moved:    map[string]*Entry{},
		reserved: map[rootPath]*Entry{},
	}
}

func (s *Snapshot) addRoot(f *foundRoot) {
	root := new(skill.Root) // one for all of its entries
	*root = f.status.Root
	made := make([]Entry, len(f.skills)) // in one allocation: there are many, and they have the same lifetime
	s.Entries = slices.Grow(s.Entries, len(made))
	paths := paths{root, f.claimed, foldersOf(f.skills), root.Prefix == "" || skill.CleanPath(root.Prefix) == nil}
	from := len(s.Entries)
	for i := range made {
		pause(i)
		sk := f.skills[i].Skill
		made[i] = Entry{Skill: sk, Root: root, Status: firstStatus(root), Key: skill.KeyOf(sk.Name)}
		if files := f.skills[i].files; files != nil {
			s.files[sk] = *files
		}
		if sk.Available {
			paths.give(&made[i], 0)
		} else {
			made[i].Status = Skipped
		}
		s.add(&made[i])
	}
	s.settleURIs(paths, from)
}

// add appends an entry. Within a root, it must be called in path order.
func (s *Snapshot) add(e *Entry) {
	s.Entries = append(s.Entries, e)
	n := len(s.Entries)
	if k := len(s.spans); k > 0 && s.spans[k-1].label == e.Root.Label {
		s.spans[k-1].to = n
	} else {
		s.spans = append(s.spans, span{e.Root.Label, n - 1, n})
	}
	if !e.ModelInvocable {
		s.reserved[rootPath{e.Root.Label, strings.ToLower(e.Path)}] = e
	}
}

// shadow decides which of the skills with equal names is served by the name, and orders the lists.
func (s *Snapshot) shadow() {
	s.unlistCopies()
	s.named = make([]*Entry, 0, len(s.Entries))
	for i, e := range s.Entries {
		pause(i)
		if e.Status == Skipped {
			s.Skipped = append(s.Skipped, e)
		} else {
			s.named = append(s.named, e)
		}
	}
	slices.SortFunc(s.named, s.byKey)
	s.shadowSameKeys()
	s.named = slices.CompactFunc(s.named, func(a, b *Entry) bool { return a.Key == b.Key })
	var uninvocable, shadowed, unlisted []*Entry
	count, next := 0, make(map[*skill.Root]int, len(s.spans)) // index in Listed of a root's next skill
	for i, e := range s.Entries {
		pause(i)
		if _, ok := next[e.Root]; !ok {
			next[e.Root] = count
		}
		switch {
		case e.ModelVisible():
			count++
		case e.Status == Available:
			uninvocable = append(uninvocable, e)
		case e.Status == Shadowed:
			shadowed = append(shadowed, e)
		case e.Status == Unlisted && (e.By == nil || !s.sameFiles(e.By, e)):
			unlisted = append(unlisted, e)
		}
	}
	s.Listed = make([]*Entry, count)
	for i, e := range s.named { // named has each listed skill, as the first of its key
		pause(i)
		if e.ModelVisible() {
			s.Listed[next[e.Root]] = e
			next[e.Root]++
		}
	}
	if s.searched = s.Listed; len(uninvocable)+len(shadowed)+len(unlisted) > 0 {
		s.searched = slices.Concat(s.Listed, uninvocable, shadowed, unlisted)
	}
}

// shadowSameKeys sets the status of skills that share the key of an earlier skill. s.named is
// sorted.
func (s *Snapshot) shadowSameKeys() {
	for from, to := 0, 0; from < len(s.named); from = to {
		pause(from)
		first := s.named[from]
		for to = from + 1; to < len(s.named) && s.named[to].Key == first.Key; {
			to++
		}
		if to == from+1 {
			continue
		}
		s.preferNearest(s.named[from:to])
		first = s.named[from]
		all, originals := slices.Clone(s.named[from:to]), map[skill.Digest]*Entry{} // by their files
		s.clashes[first.Key] = all
		for i, e := range all {
			original := (*Entry)(nil)
			if files, ok := s.files[e.Skill]; ok {
				if original = originals[files]; original == nil {
					originals[files] = e
				}
			}
			if i == 0 {
				continue
			}
			status := Copy
			if e.By = original; original == nil {
				e.By, status = first, Shadowed
			}
			if e.Status != Unlisted {
				e.Status = status
			}
		}
	}
}

// preferNearest reorders the copies that come from followed sources: the copy with the shortest
// path becomes the first. Otherwise, servers that follow each other would pass a skill on for ever,
// under longer and longer paths.
func (s *Snapshot) preferNearest(sameKey []*Entry) {
	first := map[skill.Digest]int{} // by their files
	for i, e := range sameKey {
		files, ok := s.files[e.Skill]
		if !ok || !e.Root.Remote {
			continue
		}
		at, copied := first[files]
		if !copied {
			first[files] = i
		} else if strings.Count(e.Path, "/") < strings.Count(sameKey[at].Path, "/") {
			sameKey[at], sameKey[i] = e, sameKey[at]
		}
	}
}

// unlistCopies removes a skill from the lists if an unlisted root contains a copy of it, at any
// path. A copy has the same files. The client that shows that root's skills already shows this one.
func (s *Snapshot) unlistCopies() {
	var elsewhere map[skill.Digest]bool // by their files
	for _, e := range s.Entries {
		if files, ok := s.files[e.Skill]; ok && e.Root.Unlisted && e.Status != Skipped {
			if elsewhere == nil {
				elsewhere = map[skill.Digest]bool{}
			}
			elsewhere[files] = true
		}
	}
	if elsewhere == nil {
		return
	}
	for _, e := range s.Entries {
		if files, ok := s.files[e.Skill]; ok && e.Status == Available && elsewhere[files] {
			e.Status = Unlisted
		}
	}
}

// byKey compares two served skills by key, and then by precedence for the name. A listed skill
// comes before an unlisted one, and an unlisted one before its copy. The rest is in the order of
// [Snapshot.Precedence].
func (s *Snapshot) byKey(a, b *Entry) int {
	if order := strings.Compare(string(a.Key), string(b.Key)); order != 0 {
		return order
	}
	rank := func(e *Entry) int {
		switch {
		case e.Status != Unlisted:
			return 0
		case e.Root.Unlisted:
			return 1
		}
		return 2
	}
	if order := rank(a) - rank(b); order != 0 {
		return order
	}
	if a.Root == b.Root {
		return byDepth(a, b)
	}
	in := func(e *Entry) int {
		return slices.IndexFunc(s.spans, func(sp span) bool { return sp.label == e.Root.Label })
	}
	return in(a) - in(b)
}

// Precedence returns all entries by precedence for a shared name: in root order, and within a root
// the shallowest folder first, then in path order.
func (s *Snapshot) Precedence() []*Entry {
	all := slices.Clone(s.Entries)
	for _, sp := range s.spans {
		slices.SortStableFunc(all[sp.from:sp.to], byDepth)
	}
	return all
}

// First returns the first of the matching entries in the order of [Snapshot.Precedence], or nil.
func (s *Snapshot) First(match func(*Entry) bool) *Entry { return firstOf(s.Entries, match) }

// firstOf is [Snapshot.First] for some of the entries, in root order.
func firstOf(all []*Entry, match func(*Entry) bool) (first *Entry) {
	for _, e := range all {
		switch {
		case first != nil && e.Root != first.Root:
			return first
		case (first == nil || byDepth(e, first) < 0) && match(e):
			first = e
		}
	}
	return first
}

// byDepth compares two entries of a root: the shallower first, then in path order.
func byDepth(a, b *Entry) int {
	return cmp.Or(depth(a)-depth(b), strings.Compare(a.Path, b.Path))
}

func depth(e *Entry) int {
	if e.Path == "." {
		return -1
	}
	return strings.Count(e.Path, "/")
}

// firstStatus returns the status of a root's served skill before it is compared with other skills.
func firstStatus(root *skill.Root) Status {
	if root.Unlisted {
		return Unlisted
	}
	return Available
}

// byName compares two skills of a root for their order in a list.
func byName(a, b *Entry) int {
	if order := strings.Compare(string(a.Key), string(b.Key)); order != 0 {
		return order
	}
	return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Path, b.Path))
}

// Place returns the location of a skill's file as every answer shows it:
// ".claude/skills/git/SKILL.md", or with the root's label instead of its folder. See
// [skill.Root.Name].
func (e *Entry) Place() string { return e.placeIn(e.Root.Name()) }

// localPlace returns [Entry.Place] as the log shows it; see [skill.Root.LocalName].
func (e *Entry) localPlace() string { return e.placeIn(e.Root.LocalName()) }

func (e *Entry) placeIn(root string) string {
	file := e.Entry
	if file == "" && len(e.Others()) > 0 {
		file = e.Others()[0]
	}
	return skill.Join(root, e.Path, file)
}
