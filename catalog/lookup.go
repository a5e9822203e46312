package catalog

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// Named finds the skill that a name stands for: trimmed and case-folded, first
// in root order; else, as "<root label>:<name>", the one of that root; else, behind
// the label, the one in its place there, see [Snapshot.Names]. A skill that its
// author keeps from models is found too: the caller says so. No name
// holds a control character, so one that does stands for nothing.
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
	key := skill.KeyOf(rest)
	if e := s.keyed(key); e != nil && strings.EqualFold(e.Root.Label, label) {
		return e
	}
	for _, e := range s.clashes[key] {
		if strings.EqualFold(e.Root.Label, label) {
			return e
		}
	}
	for _, r := range s.Roots {
		if strings.EqualFold(r.Label, label) {
			return s.placed(r.Label, rest)
		}
	}
	return nil
}

// keyed is the served skill that answers to a folded name: of a part, the whole's,
// where it has one alone, if that is in sight.
func (s *Snapshot) keyed(key skill.Key) *Entry {
	if e := s.byKey[key]; e != nil || s.whole == nil || s.whole.clashes[key] != nil {
		return e
	}
	if e := s.whole.byKey[key]; e != nil {
		return s.at(e)
	}
	return nil
}

// based is the served skill whose folder has a path in the URI space.
func (s *Snapshot) based(path string) *Entry {
	if s.whole == nil {
		return s.byBase.find("", path)
	}
	if e := s.whole.byBase.find("", path); e != nil {
		return s.at(e)
	}
	return nil
}

// placed finds the skill of a root that a name of its place means: the path of its
// folder with ":" for "/", or its mark.
func (s *Snapshot) placed(label, name string) *Entry {
	if e := s.placedAt(label, strings.ReplaceAll(name, ":", "/")); e != nil && e.Status != Skipped {
		return e
	}
	if strings.HasPrefix(name, "~") {
		for _, e := range s.Entries {
			if e.Root.Label == label && e.Status != Skipped && e.mark() == name {
				return e
			}
		}
	}
	return nil
}

// InFolder finds a skill by its folder's exact name, first in root order: a
// direct child of a root before one at any depth. Skipped skills are found too;
// contract 000 reads them without judging.
func (s *Snapshot) InFolder(name string) *Entry {
	return shallowest(s.inFolder(name))
}

// ServedInFolder is [Snapshot.InFolder] without the skipped skills.
func (s *Snapshot) ServedInFolder(name string) *Entry {
	return shallowest(slices.DeleteFunc(slices.Clone(s.inFolder(name)), func(e *Entry) bool { return e.Status == Skipped }))
}

func shallowest(all []*Entry) *Entry {
	for _, e := range all {
		if !strings.Contains(e.Path, "/") {
			return e
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// Innermost is the skill in whose folder a file of e lies: e, or the last of the
// skills nested in it on the way to the file, by the path as it is asked for. A
// skill that is kept from models is met in upper and lower case, since some file
// systems do not tell these apart.
func (s *Snapshot) Innermost(e *Entry, file string) *Entry {
	at := join(e.Path, file)
	// No deeper than any skill lies, so that an endless path costs no more. In small
	// letters a path may take more bytes, at most twice as many; what is skipped has no
	// URI that would count.
	if most := max(2*s.longest, 8<<10); len(at) > most {
		at = at[:max(strings.LastIndexByte(at[:most+1], '/'), 0)]
	}
	for ; skill.IsBelow(at, e.Path); at = parent(at) {
		if in := s.placedAt(e.Root.Label, at); in != nil {
			return in
		}
		if in := s.reserved[place{e.Root.Label, strings.ToLower(at)}]; in != nil {
			return in
		}
	}
	return e
}

// At finds what a URI addresses: the skill, and the path of a file or folder in
// it, "." for the skill's own folder. Whether that file exists is for the reader
// to see. It returns nil for a URI that no skill owns.
func (s *Snapshot) At(uri skill.URI) (e *Entry, path string) {
	whole := uri.Path()
	if e := s.based(whole); e != nil {
		return e, "."
	}
	// From the longest base that there is, so that an endless URI costs no more.
	end := min(len(whole), s.longest+1)
	for end = strings.LastIndexByte(whole[:end], '/'); end >= 0; end = strings.LastIndexByte(whole[:end], '/') {
		if e := s.based(whole[:end]); e != nil {
			return e, whole[end+1:]
		}
	}
	return nil, ""
}

// Near lists at most n names that a misspelt one may have meant, nearest first:
// of listed skills whose name differs little, then those whose name begins with it.
func (s *Snapshot) Near(name string, n int) []*Entry {
	return nearest(s.Listed, name, n, func(e *Entry) []string { return []string{string(e.Key)} })
}

// SkippedNear lists at most n skipped skills whose folder or name is the given
// one or comes close.
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
	want := string(skill.KeyOf(skill.Echo(name)))
	if want == "" {
		return nil
	}
	// A third of the letters may differ, at most three: further off, a proposal
	// is a guess.
	letters := utf8.RuneCountInString(want)
	limit := min(letters/3, 3)
	byDistance := make([][]*Entry, limit+1)
	for _, e := range all {
		best := limit + 1
		for _, have := range names(e) {
			best = min(best, skill.Distance(want, have, limit))
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
