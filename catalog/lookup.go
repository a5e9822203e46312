package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
)

// Named finds the skill that a name refers to, trimmed and case-folded. A plain name means the
// first skill in root order, and "<root label>:<name>" the skill of that root. If the root has no
// skill of that name, the name is read as a place in the root; see [Snapshot.Names]. The name of a
// plugin stands for the labels of the plugin's roots.
//
// Named also finds skills that their authors withhold from models, so the caller must check
// ModelInvocable. It returns nil for a name with a control character, since no skill's name has
// one.
func (s *Snapshot) Named(name string) *Entry {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) && !unicode.IsSpace(r) }) {
		return nil
	}
	if e := s.keyed(skill.KeyOf(name)); e != nil {
		return e
	}
	label, rest, ok := strings.Cut(strings.TrimSpace(name), ":")
	if !ok {
		return nil
	}
	for _, r := range s.Roots {
		if strings.EqualFold(r.Label, label) {
			return s.inRoot(r.Label, rest)
		}
	}
	for _, r := range s.Roots {
		if strings.EqualFold(r.Plugin, label) && r.Plugin != "" {
			if e := s.inRoot(r.Label, rest); e != nil {
				return e
			}
		}
	}
	return nil
}

// inRoot finds the skill of a root by its name, its folder's place or, in a plugin, its folder's
// name.
func (s *Snapshot) inRoot(label, name string) *Entry {
	key := skill.KeyOf(name)
	if e := s.keyed(key); e != nil && e.Root.Label == label {
		return e
	}
	for _, e := range s.clashes[key] {
		if e.Root.Label == label {
			return e
		}
	}
	if e := s.findByPlace(label, name); e != nil {
		return e
	}
	for _, e := range s.inFolder(strings.TrimSpace(name)) {
		if e.Root.Label == label && e.Root.Plugin != "" && e.Status != Skipped {
			return e
		}
	}
	return nil
}

// keyed returns the served skill that answers to a folded name.
func (s *Snapshot) keyed(key skill.Key) *Entry {
	i, ok := slices.BinarySearchFunc(s.named, key, func(e *Entry, key skill.Key) int { return strings.Compare(string(e.Key), string(key)) })
	if !ok {
		return nil
	}
	return s.named[i]
}

// based returns the served skill whose base path in the URI space is path; see [Entry.Base].
func (s *Snapshot) based(path string) *Entry {
	if s.whole == nil {
		return s.basedIn(s.spans, path, len(s.Entries))
	}
	if e := s.whole.based(path); e != nil {
		return s.samePlace(e)
	}
	return nil
}

// basedIn is like based, but considers only some skills: the moved ones, and the skills of the
// given roots among the first n entries.
func (s *Snapshot) basedIn(roots []span, path string, n int) *Entry {
	if e := s.moved[path]; e != nil {
		return e
	}
	for _, sp := range roots {
		at, ok := strings.CutPrefix(path, join(s.Entries[sp.from].Root.Prefix, ""))
		if !ok {
			continue
		}
		if i, ok := s.find(sp, at); ok && i < n && s.Entries[i].Tail == at {
			return s.Entries[i]
		}
	}
	return nil
}

// findByPlace finds the skill of a root by a name of its place. That is the path of its folder with
// ":" for "/", or "~" and the digest of its URI.
func (s *Snapshot) findByPlace(label, name string) *Entry {
	if e := s.placedAt(label, strings.ReplaceAll(name, ":", "/")); e != nil && e.Status != Skipped {
		return e
	}
	if strings.HasPrefix(name, "~") {
		for _, e := range s.Entries {
			if e.Root.Label == label && e.Status != Skipped && e.digestName() == name {
				return e
			}
		}
	}
	return nil
}

// InFolder finds the first skill in root order by its folder's exact name. A direct child of a root
// comes before a skill at any depth, and within a root the shallowest skill wins. Skipped skills
// are found too, since contract 000 also reads skills that are not valid.
func (s *Snapshot) InFolder(name string) *Entry {
	return shallowest(s.inFolder(name))
}

// ServedInFolder is like [Snapshot.InFolder], without the skipped skills.
func (s *Snapshot) ServedInFolder(name string) *Entry {
	return shallowest(slices.DeleteFunc(slices.Clone(s.inFolder(name)), func(e *Entry) bool { return e.Status == Skipped }))
}

func shallowest(all []*Entry) *Entry {
	for _, e := range all {
		if !strings.Contains(e.Path, "/") {
			return e
		}
	}
	return firstOf(all, func(*Entry) bool { return true })
}

// Innermost returns the innermost skill whose folder contains a file of e. That is e itself, or a
// skill nested in e on the path to the file. It compares the path as requested. To find skills that
// are withheld from models, it ignores case, because some file systems do.
func (s *Snapshot) Innermost(e *Entry, file string) *Entry {
	at := join(e.Path, file)
	// Cut the path to a length that no served skill's path exceeds, to bound the cost of an endless
	// path. In lower case, a path may take up to twice as many bytes. Skipped skills have no URI,
	// so their paths do not count.
	if most := max(2*s.longest, 8<<10); len(at) > most {
		at = at[:max(strings.LastIndexByte(at[:most+1], '/'), 0)]
	}
	for ; e.Contains(at); at = parent(at) {
		if in := s.placedAt(e.Root.Label, at); in != nil {
			return in
		}
		if in := s.reserved[rootPath{e.Root.Label, strings.ToLower(at)}]; in != nil {
			return in
		}
	}
	return e
}

// At resolves a URI to the skill and the path of a file or folder in it, "." for the skill's own
// folder. It does not check that the file exists. It returns nil for a URI that no skill owns.
func (s *Snapshot) At(uri skill.URI) (e *Entry, path string) {
	whole := uri.Path()
	if e := s.based(whole); e != nil {
		return e, "."
	}
	// Start at the length of the longest base, so that an endless URI costs no more.
	end := min(len(whole), s.longest+1)
	for end = strings.LastIndexByte(whole[:end], '/'); end >= 0; end = strings.LastIndexByte(whole[:end], '/') {
		if e := s.based(whole[:end]); e != nil {
			return e, whole[end+1:]
		}
	}
	return nil, ""
}

// Near lists at most n listed skills that a misspelt name may mean, nearest first.
// Skills whose name differs little come before those whose name begins with it.
func (s *Snapshot) Near(name string, n int) []*Entry {
	return nearest(s.Listed, name, n, func(e *Entry) []string { return []string{string(e.Key)} })
}

// SkippedNear lists at most n skipped skills whose folder or name equals the given
// name or is close to it.
func (s *Snapshot) SkippedNear(name string, n int) []*Entry {
	return nearest(s.Skipped, name, n, func(e *Entry) []string {
		names := []string{string(skill.KeyOf(e.Folder()))}
		if e.Name != "" {
			names = append(names, string(e.Key))
		}
		return names
	})
}

func nearest(all []*Entry, name string, n int, names func(*Entry) []string) []*Entry {
	want := string(skill.KeyOf(display.Echo(name)))
	if want == "" {
		return nil
	}
	// A third of the letters may differ, at most three: beyond that, a suggestion is a
	// guess.
	letters := utf8.RuneCountInString(want)
	limit := min(letters/3, 3)
	byDistance := make([][]*Entry, limit+1)
	for _, e := range all {
		best := limit + 1
		for _, have := range names(e) {
			best = min(best, typo.Distance(want, have, limit))
			if letters >= 3 && strings.HasPrefix(have, want) {
				best = min(best, limit)
			}
		}
		if best <= limit {
			byDistance[best] = append(byDistance[best], e)
		}
	}
	var out []*Entry
	for _, group := range byDistance {
		out = append(out, group...)
	}
	return out[:min(n, len(out))]
}
