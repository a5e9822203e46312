package catalog

import (
	"cmp"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// build merges the roots in their order: first match wins, nothing is dropped.
func build(found []foundRoot) *Snapshot {
	n := 0
	for _, f := range found {
		n += len(f.skills)
	}
	s := &Snapshot{
		Version:  1,
		Entries:  make([]*Entry, 0, n),
		byKey:    make(map[skill.Key][]*Entry, n),
		byFolder: make(map[string][]*Entry, n),
		byBase:   make(map[string]*Entry, n),
		byPlace:  make(map[place]*Entry, n),
	}
	for _, f := range found {
		status := f.status
		status.Count = len(f.skills)
		s.Roots = append(s.Roots, status)
		s.addRoot(status.Root, f.skills)
	}
	s.shadow()
	return s
}

func (s *Snapshot) addRoot(root skill.Root, skills []*skill.Skill) {
	entries := make([]*Entry, len(skills))
	for i, sk := range skills {
		e := &Entry{Skill: sk, Root: root, Status: Available, Key: skill.KeyOf(sk.Name)}
		if !sk.Available {
			e.Status = Skipped
		}
		entries[i] = e
		s.byFolder[sk.Folder] = append(s.byFolder[sk.Folder], e)
		s.byPlace[place{root.Label, sk.Path}] = e
	}
	s.Entries = append(s.Entries, entries...)
	s.assignURIs(root, entries)
}

// assignURIs gives every served skill of a root its path in the URI space. The
// last segment is the name where that is valid, else the folder's. A name gives
// way to the folder where it would claim what belongs to another: two equal
// paths, or a path in which another skill's folder or file lies.
func (s *Snapshot) assignURIs(root skill.Root, entries []*Entry) {
	folders := make(map[string]bool, len(entries))
	for _, e := range entries {
		for p := e.Path; p != "."; p = parent(p) {
			if folders[p] {
				break
			}
			folders[p] = true
		}
	}
	for _, e := range entries {
		if e.Status == Skipped {
			continue
		}
		for _, base := range candidates(root, e, entries, folders) {
			uri, err := skill.NewURI(base + "/" + skill.MainFile)
			if err != nil || s.byBase[base] != nil {
				continue
			}
			e.URI, e.Base = uri, base
			s.byBase[base] = e
			break
		}
	}
}

// candidates are the paths an entry may have, best first; the last ones are
// unique for certain.
func candidates(root skill.Root, e *Entry, entries []*Entry, folders map[string]bool) []string {
	at := e.Path
	if at == "." {
		at = e.Folder
	}
	var all []string
	if skill.ValidName(e.Name) && e.Name != skill.Base(at) {
		named := join(parent(at), e.Name)
		if !folders[named] && !taken(e, named, entries) {
			all = append(all, join(root.Prefix, named))
		}
	}
	all = append(all, join(root.Prefix, at))
	for i := 1; i < 100; i++ {
		all = append(all, join(root.Label, at)+strings.Repeat("~", i-1))
	}
	return all
}

// taken reports whether a skill around e has a file or folder at that path, so
// that one URI would name two things.
func taken(e *Entry, named string, entries []*Entry) bool {
	for up := parent(e.Path); ; up = parent(up) {
		i, ok := slices.BinarySearchFunc(entries, up, func(o *Entry, p string) int { return cmp.Compare(o.Path, p) })
		if ok && entries[i].Status != Skipped {
			rel := strings.TrimPrefix(strings.TrimPrefix(named, up), "/")
			if _, err := fs.Stat(entries[i].FS, rel); err == nil {
				return true
			}
		}
		if up == "." {
			return false
		}
	}
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
	for _, e := range s.Entries {
		if e.Status == Skipped {
			s.Skipped = append(s.Skipped, e)
			continue
		}
		if first := s.byKey[e.Key]; len(first) > 0 {
			e.By, e.Status = first[0], Shadowed
			if first[0].Digest == e.Digest {
				e.Status = Copy
			}
		}
		s.byKey[e.Key] = append(s.byKey[e.Key], e)
		if e.ModelVisible() {
			s.Listed = append(s.Listed, e)
		}
	}
	order := make(map[string]int, len(s.Roots))
	for i, r := range s.Roots {
		order[r.Label] = i
	}
	slices.SortStableFunc(s.Listed, func(a, b *Entry) int {
		return cmp.Or(order[a.Root.Label]-order[b.Root.Label], cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name))
	})
}

// Place is where a skill's file lies, as people write it:
// ".claude/skills/git/SKILL.md".
func (e *Entry) Place() string {
	file := e.Entry
	if file == "" && len(e.Others) > 0 {
		file = e.Others[0]
	}
	return path.Join(cmp.Or(e.Root.Shown, e.Root.Label), e.Path, file)
}
