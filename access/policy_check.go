package access

import (
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/lazyregexp"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
)

// Unmatched lists the patterns that match no skill, in the order of the rules. Most
// likely they are misspelt, and a misspelt deny denies nothing.
func (p *Policy) Unmatched(entries []*catalog.Entry) []Pattern {
	var idle []Pattern
	for _, r := range p.rules {
		for _, pattern := range slices.Concat(r.Allow, r.Deny) {
			if !slices.ContainsFunc(entries, func(e *catalog.Entry) bool { return pattern.match(base(e)) }) {
				idle = append(idle, pattern)
			}
		}
	}
	return idle
}

// Misspelt is a pattern that no skill matches as written, but some skill would in
// another spelling. Most likely the rules were written for other roots than the server
// has, and a deny hides nothing.
type Misspelt struct {
	Pattern Pattern
	As      string // the spelling that a skill matches
}

// Misspelt lists, in the order of the rules, the patterns that match a skill only after
// the leading root label is added, removed or replaced. A pattern is in the list once for
// each spelling.
func (p *Policy) Misspelt(entries []*catalog.Entry) (all []Misspelt) {
	var labels []string
	for _, e := range entries {
		if !slices.Contains(labels, e.Root.Label) {
			labels = append(labels, e.Root.Label)
		}
	}
	for _, pattern := range p.Unmatched(entries) {
		for _, e := range entries {
			as := pattern.respelt(e, labels)
			if as != "" && !slices.ContainsFunc(all, func(m Misspelt) bool { return m.Pattern.text == pattern.text && m.As == as }) {
				all = append(all, Misspelt{pattern, as})
			}
		}
	}
	return all
}

// Denying returns a policy whose rules deny misspelt patterns in their other spellings too. A
// misspelt pattern that allows stays as it is, and shows nothing.
func (p *Policy) Denying(all []Misspelt) *Policy {
	rules := slices.Clone(p.rules)
	for i := range rules {
		r := &rules[i]
		for _, m := range all {
			as, err := ParsePattern(m.As)
			if err == nil && slices.ContainsFunc(r.Deny, func(d Pattern) bool { return d.text == m.Pattern.text }) {
				r.Deny = append(slices.Clip(r.Deny), as)
			}
		}
	}
	return NewPolicy(p.allow, rules)
}

// respelt returns the spelling in which a pattern would match a skill. It returns "" if
// more than the root label differs.
func (p Pattern) respelt(e *catalog.Entry, labels []string) string {
	prefix := ""
	at := base(e)
	if e.Root.Prefix != "" {
		prefix, at = url.PathEscape(e.Root.Prefix)+"/", strings.TrimPrefix(at, e.Root.Prefix+"/")
	}
	text := strings.TrimPrefix(p.text, skill.Scheme)
	if prefix != "" && p.match(at) {
		return skill.Scheme + prefix + text
	}
	first, rest, _ := strings.Cut(text, "/")
	if len(p.segments) < 2 || p.segments[0].deep || !p.segments[0].isLabel(labels) {
		return ""
	}
	if (Pattern{segments: p.segments[1:]}).match(at) && first+"/" != prefix {
		return skill.Scheme + prefix + rest
	}
	return ""
}

// numbered matches the label of a root that has no name of its own.
var numbered = lazyregexp.New(`^(dir|env)-[0-9]+$`)

// isLabel reports whether a segment is the label of a root, of these or on a server with
// more roots.
func (s segment) isLabel(labels []string) bool {
	return len(s.parts) == 1 && numbered().MatchString(s.parts[0]) || slices.ContainsFunc(labels, s.match)
}

// UnknownName is a name in a rule that no token's subject has. Most likely it is misspelt,
// and a rule that denies then denies nothing.
type UnknownName struct {
	Group bool // the name is a group's; else a subject's
	Name  string
	Near  string // the nearest known name; empty if no known name is near
}

// UnknownNames lists the groups and subjects of the rules that no token has, each once,
// in the order of the rules.
func (p *Policy) UnknownNames(t *Tokens) (all []UnknownName) {
	var groups, subjects []string
	if t != nil {
		for _, h := range t.held {
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
