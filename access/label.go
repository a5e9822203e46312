package access

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Astray is a pattern that fits no root of a server. The URIs of the server's skills begin with
// labels that the operator chose, or with numbers of --dir.
type Astray struct {
	Pattern Pattern
	// Label is the pattern's first segment, which is not a root's label. It is empty if the
	// segment contains a *, because it can then mean a label or a folder.
	Label  string
	Denies bool
}

// Astray lists, in the order of the rules, the patterns that begin neither with ** nor with one of
// the labels. A rule written for other roots would hide less than intended.
func (p *Policy) Astray(labels []string) (all []Astray) {
	add := func(patterns []Pattern, denies bool) {
		for _, pattern := range patterns {
			label, _ := pattern.label()
			if pattern.isDeep() || slices.ContainsFunc(labels, func(known string) bool { return pattern.means(known) }) {
				continue
			}
			all = append(all, Astray{pattern, label, denies})
		}
	}
	for _, r := range p.rules {
		add(r.Allow, false)
		add(r.Deny, true)
	}
	return all
}

// IsAbout reports whether the pattern begins with the label.
func (p Pattern) IsAbout(label string) bool {
	first, ok := p.label()
	return ok && first == label
}

// means reports whether the pattern's first segment matches a label. The segment dir-* matches
// every number of --dir.
func (p Pattern) means(label string) bool {
	one := p.segments[0]
	return !one.deep && one.match(label) && (one.isPlain() || IsNumbered(label) && strings.HasPrefix(one.parts[0], "dir-"))
}

// label returns the first segment, and false if it is ** or contains a *.
func (p Pattern) label() (string, bool) {
	if one := p.segments[0]; one.isPlain() {
		return one.parts[0], true
	}
	return "", false
}

// isPlain reports whether a segment contains no *.
func (s segment) isPlain() bool { return !s.deep && len(s.parts) == 1 }

// isDeep reports whether the pattern begins with **.
func (p Pattern) isDeep() bool { return p.segments[0].deep }

// IsMovable reports whether the URIs of a root's skills contain a label that depends on settings.
// Such a label belongs to a named root, or has a number of --dir.
func IsMovable(r *skill.Root) bool {
	return r.Prefix != "" && (r.Publisher != nil || IsNumbered(r.Label))
}

// IsNumbered reports whether a label comes from --dir, so that it depends on the number and the
// order of the roots.
func IsNumbered(label string) bool {
	number, ok := strings.CutPrefix(label, "dir-")
	return ok && number != "" && strings.Trim(number, "0123456789") == ""
}

// denies reports whether a pattern denies the skill at a place. In a root whose label can move, it
// also denies the skills that it would deny without the label. So a rule for a single root still
// hides them if more roots are added. The exception is a place that one of the rules allows by its
// label and folder.
func denies(rules []*Rule, pattern Pattern, root *skill.Root, at []string) bool {
	if matchAll(pattern.segments, at) {
		return true
	}
	bare, ok := unlabelled(root, at)
	return ok && !pattern.isDeep() && matchAll(pattern.segments, bare) && !allowsByLabel(rules, at)
}

// allows reports whether a pattern allows the skill at a place. In a root whose label can move, a
// leading ** stands for the label, and the rest never matches the label. So a rule for a single
// root shows no more skills if more roots are added.
func allows(pattern Pattern, root *skill.Root, at []string) bool {
	if bare, ok := unlabelled(root, at); ok && pattern.isDeep() {
		return matchAll(pattern.segments, bare)
	}
	return matchAll(pattern.segments, at)
}

// unlabelled returns a place without the label of its root, if the label can move.
func unlabelled(root *skill.Root, at []string) ([]string, bool) {
	if !IsMovable(root) || len(at) < 2 || at[0] != root.Prefix {
		return nil, false
	}
	return at[1:], true
}

// allowsByLabel reports whether any rule allows a place by a pattern that begins with a label and a
// folder. Such a pattern was written for the labelled root.
func allowsByLabel(rules []*Rule, at []string) bool {
	return slices.ContainsFunc(rules, func(r *Rule) bool {
		return slices.ContainsFunc(r.Allow, func(one Pattern) bool {
			return one.IsAbout(at[0]) && len(one.segments) > 1 && one.segments[1].isPlain() && matchAll(one.segments, at)
		})
	})
}

// Twofold lists the patterns whose first part, such as dir-1, matches both the label of a --dir
// root and a folder in it. If that root were the only one, its URIs would have no label, and the
// pattern would match only the folder.
func (p *Policy) Twofold(in *catalog.Snapshot) (all []Pattern) {
	for _, e := range in.Entries {
		for _, at := range places(in, e) {
			bare, ok := unlabelled(e.Root, at)
			if !ok || e.Root.Publisher != nil || allowsByLabel(p.all(), at) {
				continue
			}
			for _, r := range p.rules {
				for _, one := range slices.Concat(r.Allow, r.Deny) {
					if one.means(at[0]) && one.segments[0].match(bare[0]) && !slices.ContainsFunc(all, func(o Pattern) bool { return o.text == one.text }) {
						all = append(all, one)
					}
				}
			}
		}
	}
	return all
}

// all returns every rule, for all subjects.
func (p *Policy) all() (rules []*Rule) {
	for i := range p.rules {
		rules = append(rules, &p.rules[i])
	}
	return rules
}
