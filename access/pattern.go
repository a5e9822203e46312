package access

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/knack-dev/knack/skill"
)

// Pattern matches the URIs of skills. "skill://acme/billing/refunds" matches only that skill, and
// "skill://acme/*" matches the skills directly below acme. "skill://acme/**" matches acme and
// everything below it. A * matches any text within one segment of the path. A segment ** matches
// any number of segments, including zero. A literal * is written %2A.
type Pattern struct {
	text     string
	segments []segment
}

// segment is one segment of a pattern. If deep is set, it matches any number of segments. Otherwise
// it matches the parts in order, with any text between them.
type segment struct {
	deep  bool
	parts []string
}

// anyName represents an unknown segment. No path contains it, and every segment of a pattern
// matches it.
const anyName = "\x00"

// ParsePattern parses a pattern. The error describes the fault, and does not repeat the pattern.
func ParsePattern(text string) (Pattern, error) {
	rest, ok := strings.CutPrefix(text, skill.Scheme)
	switch {
	case !ok:
		return Pattern{}, errors.New("it does not begin with skill://")
	case strings.ContainsAny(rest, "?#"):
		return Pattern{}, errors.New("it has a query or a fragment; a literal ? is written %3F, a literal # %23")
	}
	rest = strings.TrimSuffix(rest, "/"+skill.MainFile)
	p := Pattern{text: text}
	for s := range strings.SplitSeq(rest, "/") {
		switch {
		case s == "":
			return Pattern{}, errors.New("it has an empty segment, or ends in /; /** at its end means a folder and all in it")
		case s == "**":
			if n := len(p.segments); n == 0 || !p.segments[n-1].deep { // two ** in a row mean the same as one
				p.segments = append(p.segments, segment{deep: true})
			}
			continue
		case strings.Contains(s, "**"):
			return Pattern{}, errors.New("** is next to other text; it must be a segment of its own")
		}
		var seg segment
		for part := range strings.SplitSeq(s, "*") {
			plain, err := url.PathUnescape(part)
			if err != nil {
				return Pattern{}, fmt.Errorf("%w; a literal %% is written %%25", err)
			}
			seg.parts = append(seg.parts, plain)
		}
		if one := seg.parts; len(one) == 1 && (one[0] == "." || one[0] == "..") {
			return Pattern{}, errors.New("a segment is . or .., which no URI of a skill has")
		}
		p.segments = append(p.segments, seg)
	}
	return p, nil
}

// String returns the pattern as it was written.
func (p Pattern) String() string { return p.text }

// matchAll reports whether the segments want match the path have. It backtracks only to the last
// **, so its cost is at most the product of the two lengths.
func matchAll(want []segment, have []string) bool {
	w, h := 0, 0
	back, from := -1, 0 // index after the last ** of want, and the first segment of have that this ** does not cover
	for h < len(have) {
		switch {
		case w < len(want) && want[w].deep:
			w++
			back, from = w, h
		case w < len(want) && want[w].match(have[h]):
			w++
			h++
		case back >= 0:
			from++
			w, h = back, from
		default:
			return false
		}
	}
	return !slices.ContainsFunc(want[w:], func(s segment) bool { return !s.deep })
}

func (s segment) match(text string) bool {
	first, last := s.parts[0], s.parts[len(s.parts)-1]
	if len(s.parts) == 1 || text == anyName {
		return text == first || text == anyName
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range s.parts[1 : len(s.parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// String returns the segment as written in a pattern.
func (s segment) String() string {
	parts := slices.Clone(s.parts)
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return strings.Join(parts, "*")
}

// split returns the segments between encoded slashes.
func (s segment) split() []segment {
	all := []segment{{deep: s.deep}}
	for _, part := range s.parts {
		for i, text := range strings.Split(part, "/") {
			if i > 0 {
				all = append(all, segment{})
			}
			last := &all[len(all)-1]
			last.parts = append(last.parts, text)
		}
	}
	return slices.DeleteFunc(all, func(s segment) bool { return !s.deep && s.String() == "" })
}
