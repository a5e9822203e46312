package access

import (
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/base/typo"
	"github.com/knack-dev/knack/skill"
)

// Unmatched lists the patterns that match no skill, in the order of the rules. Most
// likely they are misspelt, and a misspelt deny denies nothing.
func (p *Policy) Unmatched(in *catalog.Snapshot) (all []Pattern) {
	for _, r := range p.rules {
		all = append(append(all, r.Allow...), r.Deny...)
	}
	return unmatched(all, in)
}

func unmatched(patterns []Pattern, in *catalog.Snapshot) []Pattern {
	idle := slices.Clone(patterns)
	for _, e := range in.Entries {
		if len(idle) == 0 {
			break
		}
		for _, at := range places(in, e) {
			idle = slices.DeleteFunc(idle, func(p Pattern) bool { return matchAll(p.segments, at) })
		}
	}
	return idle
}

// Misspelt is a pattern that no skill matches as written, although some skill would match another
// spelling. Most likely the rules were written for other roots than the server's, or with other
// capitals or accents than the folders have.
type Misspelt struct {
	Pattern Pattern
	As      string // the spelling that a skill matches
	// Matched is set if the pattern also matches as written. Such a pattern can mean a folder that
	// is now below the label of a root, or the root with the folder's name as its label.
	Matched bool
}

func (m Misspelt) isAmong(all []Misspelt) bool {
	return slices.ContainsFunc(all, func(o Misspelt) bool { return o.Pattern.text == m.Pattern.text && o.As == m.As })
}

// Misspelt lists, in the order of the rules, the patterns that match a skill only in another
// spelling. The spelling may differ in the leading root label, in case, in Unicode normalization,
// and in the encoding of a slash. A pattern is in the list once for each spelling.
func (p *Policy) Misspelt(in *catalog.Snapshot) (all []Misspelt) {
	for _, m := range misspellings(p.Unmatched(in), in) {
		for _, e := range in.Entries {
			one := Misspelt{m.Pattern, m.spelling(spotsOf(e, in)), false}
			if one.As != "" && !one.isAmong(all) {
				all = append(all, one)
			}
		}
	}
	return append(all, p.twofold(in)...)
}

// twofold lists the patterns that deny a skill only without the label of its root, although
// they match another skill as written.
func (p *Policy) twofold(in *catalog.Snapshot) (all []Misspelt) {
	rules := p.all()
	deny := denied(rules)
	for _, idle := range unmatched(deny, in) {
		deny = slices.DeleteFunc(deny, func(o Pattern) bool { return o.text == idle.text })
	}
	for _, e := range in.Entries {
		if !IsMovable(e.Root) {
			continue
		}
		for _, at := range places(in, e) {
			for _, pattern := range deny {
				if !denies(rules, pattern, e.Root, at) || matchAll(pattern.segments, at) {
					continue
				}
				if one := (Misspelt{pattern, skill.Scheme + url.PathEscape(at[0]) + "/" + strings.TrimPrefix(pattern.text, skill.Scheme), true}); !one.isAmong(all) {
					all = append(all, one)
				}
			}
		}
	}
	return all
}

// misspelling is a pattern that matches no skill. It is prepared for the search for another
// spelling. A %2F in it is a slash.
type misspelling struct {
	Pattern
	written, folded []segment
	labelled        bool // begins with the label of a root, perhaps of one that is not served
}

// misspellings prepares the patterns that match no skill.
func misspellings(patterns []Pattern, in *catalog.Snapshot) (all []misspelling) {
	for _, p := range unmatched(patterns, in) {
		m := misspelling{Pattern: p}
		for _, s := range p.segments {
			m.written = append(m.written, s.split()...)
		}
		for _, s := range m.written {
			m.folded = append(m.folded, segment{s.deep, foldAll(s.parts)})
		}
		m.labelled = labelled(m.written, in.Roots)
		all = append(all, m)
	}
	return all
}

// labelled reports whether segments begin with the label of a root. The root may be one of roots,
// or one of a server with more roots. It returns false for segments that match everything in one of
// roots.
func labelled(all []segment, roots []catalog.RootStatus) bool {
	if len(all) < 2 || all[0].deep {
		return false
	}
	label, rest := all[0], all[1:]
	if !slices.ContainsFunc(rest, func(s segment) bool { return strings.Join(s.parts, "") != "" }) &&
		slices.ContainsFunc(roots, func(r catalog.RootStatus) bool { return r.Prefix != "" && label.match(r.Prefix) }) {
		return false
	}
	return len(label.parts) == 1 && numbered().MatchString(label.parts[0]) ||
		slices.ContainsFunc(roots, func(r catalog.RootStatus) bool { return label.match(r.Label) })
}

// numbered matches the label of a root that has a number instead of a name.
var numbered = lazyregexp.New(`^(dir|env)-[0-9]+$`)

// spelt reports whether one of the patterns matches a skill in another spelling.
func spelt(all []misspelling, e *catalog.Entry, in *catalog.Snapshot) bool {
	if len(all) == 0 {
		return false
	}
	spots := spotsOf(e, in)
	return slices.ContainsFunc(all, func(m misspelling) bool { return m.spelling(spots) != "" })
}

// spot is a place of a skill, unchanged and folded. label is the number of leading segments that
// are the prefix of its root.
type spot struct {
	at, folded []string
	label      int
}

func spotsOf(e *catalog.Entry, in *catalog.Snapshot) (all []spot) {
	for _, at := range places(in, e) {
		s := spot{at, foldAll(at), 0}
		if prefix := strings.Split(e.Root.Prefix, "/"); e.Root.Prefix != "" && len(prefix) < len(at) && slices.Equal(at[:len(prefix)], prefix) {
			s.label = len(prefix)
		}
		all = append(all, s)
	}
	return all
}

func foldAll(texts []string) []string {
	keys := make([]string, len(texts))
	for i, text := range texts {
		keys[i] = string(skill.KeyOf(text))
	}
	return keys
}

// spelling returns the spelling in which the pattern would match one of a skill's places. It
// returns "" if they differ in more ways than a [Misspelt] may.
func (m *misspelling) spelling(spots []spot) string {
	for _, s := range spots {
		if m.matches(0, s, 0) {
			return m.respell(0, s, 0)
		}
		if s.label > 0 && m.matches(0, s, s.label) {
			return m.respell(0, s, s.label)
		}
		if m.labelled && m.matches(1, s, s.label) {
			return m.respell(1, s, s.label)
		}
	}
	return ""
}

// matches reports whether the folded pattern from segment w on matches the folded place from
// segment h on.
func (m *misspelling) matches(w int, s spot, h int) bool {
	return matchAll(m.folded[w:], s.folded[h:])
}

// respell returns the first h segments of the place, followed by the pattern from segment w on in
// the spelling of the rest of the place.
func (m *misspelling) respell(w int, s spot, h int) string {
	var out []string
	for _, text := range s.at[:h] {
		out = append(out, url.PathEscape(text))
	}
	for ; w < len(m.written); w++ {
		if m.written[w].deep {
			for out = append(out, "**"); !m.matches(w+1, s, h); h++ {
			}
			continue
		}
		if one := m.written[w]; one.match(s.at[h]) {
			out = append(out, one.String())
		} else {
			out = append(out, url.PathEscape(s.at[h]))
		}
		h++
	}
	return skill.Scheme + strings.Join(out, "/")
}

// UnknownName is a name in a rule that belongs to the subject of no token. Most likely it is
// misspelt. A rule that denies then denies nothing.
type UnknownName struct {
	Group bool // set for a group's name, not set for a subject's
	Name  string
	Near  string // the nearest known name; empty if no known name is near
}

// UnknownNames lists the groups and subjects of the rules that no token has, each once,
// in the order of the rules.
func (p *Policy) UnknownNames(t *Tokens) (all []UnknownName) {
	var groups, subjects []string
	if t != nil {
		for _, h := range t.credentials {
			groups, subjects = append(groups, h.Groups...), append(subjects, h.Name)
		}
	}
	add := func(group bool, names, known []string) {
		for _, name := range names {
			s := UnknownName{group, name, ""}
			if !slices.Contains(known, name) {
				if s.Near = typo.Nearest(name, known); !slices.Contains(all, s) {
					all = append(all, s)
				}
			}
		}
	}
	for _, r := range p.rules {
		add(true, r.Groups, groups)
		add(false, r.Subjects, subjects)
	}
	return all
}
