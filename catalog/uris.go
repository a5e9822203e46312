package catalog

import (
	"cmp"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// paths gives the skills of a root their paths in the URI space. The last segment is the skill's
// name, or the folder's name if the skill's name is not valid. The folder's name is used too if the
// path with the skill's name is already taken. Another skill's folder, a folder above one, or a
// file of an outer skill may take it.
type paths struct {
	root             *skill.Root
	claimed, folders map[string]bool
	clean            bool // the root's prefix is a clean path, so only the rest needs a check
}

// give gives an entry its n-th candidate path, or the next one that is valid in a URI,
// and returns the candidate's number.
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

// settleURIs makes the paths of the served skills from index from on unique. A skill
// whose path is taken gets its next free candidate.
func (s *Snapshot) settleURIs(p paths, from int) {
	for i := from; i < len(s.Entries); i++ {
		pause(i)
		e := s.Entries[i]
		if e.Status == Skipped {
			continue
		}
		for n := 0; s.hasEarlierPath(e, i); {
			n = p.give(e, n+1)
		}
		if e.Tail != e.Path {
			s.moved[e.Base()] = e
		}
		prefix, at := e.base()
		s.longest = max(s.longest, len(prefix)+len("/")+len(at))
	}
}

// hasEarlierPath reports whether an entry before e, the i-th entry, has the same path in the URI
// space as e.
func (s *Snapshot) hasEarlierPath(e *Entry, i int) bool {
	roots := s.spans
	if e.Tail == e.Path {
		roots = roots[:len(roots)-1] // no other skill of its own root is in its folder
	}
	return len(roots)+len(s.moved) > 0 && s.basedIn(roots, e.Base(), i) != nil
}

// foldersOf returns the paths of the skills and of all folders above them. It returns nil if no
// skill's name differs from its folder's name, since then no path is looked up.
func foldersOf(skills []cachedSkill) map[string]bool {
	if !slices.ContainsFunc(skills, func(sk cachedSkill) bool { _, named := sk.Paths(); return named != "" }) {
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

// candidate returns the n-th path that an entry may have, and its prefix. The first ends in the
// skill's name, the second in the folder's. Later paths begin with the root's label and have "~"
// for characters that no URI may contain. Each is longer than the one before by a "~".
func (p paths) candidate(e *Entry, n int) (prefix, at string) {
	at, named := e.Paths()
	switch n {
	case 0:
		if named != "" && !p.folders[named] && !p.claimed[named] {
			return p.root.Prefix, named
		}
		fallthrough
	case 1:
		return p.root.Prefix, at
	}
	if skill.CleanPath(at) != nil {
		at = sayable(cmp.Or(named, at))
	}
	return p.root.Label, at + strings.Repeat("~", n-2)
}

// PossibleBases returns [Entry.Base] or, for a skipped skill, each path that its folder and its
// name could give it beside the other skills of the snapshot. next is the path that it would have
// if these were taken too. unread stands for a name that cannot be read. s may be nil: then no
// path is taken.
func (s *Snapshot) PossibleBases(e *Entry, unread string) (bases []string, next string) {
	if base := e.Base(); base != "" {
		return []string{base}, ""
	}
	if at, _ := e.Paths(); e.Name == "" {
		if above := join(e.Root.Prefix, parent(at)); parent(at) == "." || skill.CleanPath(above) == nil {
			bases = append(bases, join(e.Root.Prefix, join(parent(at), unread)))
		}
		if skill.CleanPath(at) != nil {
			bases = append(bases, join(e.Root.Label, join(parent(sayable(at)), unread)))
		}
	}
	p, settled := paths{root: e.Root}, false
	for n := 0; ; n++ {
		base := join(p.candidate(e, n))
		if skill.CleanPath(base) != nil {
			continue
		}
		if !slices.Contains(bases, base) {
			if settled {
				return bases, base
			}
			bases = append(bases, base)
		}
		settled = settled || n > 0 && (s == nil || s.based(base) == nil)
	}
}

// sayable writes "~" for characters that a folder's name may have and a path in a URI
// may not. These are a backslash, a drive letter's colon, and percent signs that look
// like an encoding. The result is always valid in a URI.
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

// claim records the paths, made of skill names, at which an outer skill has a file or folder. A URI
// with such a path would be ambiguous. claim reads the disk, so the caller must hold no lock.
func (f *foundRoot) claim(skills ...cachedSkill) {
	claimed := map[string]bool{}
	for i, sk := range skills {
		pause(i)
		if _, named := sk.Paths(); named != "" && f.overlaps(sk.Skill, named) {
			claimed[named] = true
		}
	}
	maps.Copy(claimed, f.claimed)
	f.claimed = claimed
}

// overlaps reports whether a loaded skill around sk has a file or folder at the path named.
func (f *foundRoot) overlaps(sk *skill.Skill, named string) bool {
	for at := sk.Path; at != "."; {
		at = parent(at)
		i, ok := slices.BinarySearchFunc(f.skills, at, func(o cachedSkill, p string) int { return cmp.Compare(o.Path, p) })
		if ok && f.skills[i].Available {
			rel := strings.TrimPrefix(strings.TrimPrefix(named, at), "/")
			if _, err := fs.Stat(f.skills[i].FS, rel); err == nil {
				return true
			}
		}
	}
	return false
}

func parent(p string) string { return path.Dir(p) }

func join(a, b string) string {
	if a == "" || a == "." {
		return b
	}
	return a + "/" + b
}
