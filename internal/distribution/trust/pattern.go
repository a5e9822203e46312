package trust

import (
	"errors"
	"strings"

	"github.com/knack-dev/knack/internal/distribution/reference"
)

// Pattern matches sources: a literal text, or parts with * for any one part and ** for any number
// of parts, even none.
type Pattern struct{ text string }

// Any matches sources of every kind.
const Any = "**"

// scheme is the prefix of the sources with signatures.
const scheme = "oci://"

// ParsePattern parses a pattern: [Any], oci:// and Any for all registries, or oci://, a registry
// and parts of a repository's name.
func ParsePattern(text string) (Pattern, error) {
	if text == Any || text == scheme+Any {
		return Pattern{text}, nil
	}
	rest, ok := strings.CutPrefix(text, scheme)
	host, path, ok2 := strings.Cut(rest, "/")
	switch {
	case !ok:
		return Pattern{}, errors.New("does not begin with oci://, and only registries have signatures")
	case !ok2 || host == "" || path == "":
		return Pattern{}, errors.New("names no registry and repository")
	case strings.ContainsAny(host, "*@"):
		return Pattern{}, errors.New("has no plain name of a registry")
	case reference.IsOddAddress(host):
		return Pattern{}, errors.New("has an IP address in a short or odd spelling, which fits no source: write all of its numbers, as in 127.0.0.1")
	case strings.ContainsAny(path, "@:") || strings.ContainsAny(text, " \t\r\n?#\\"):
		return Pattern{}, errors.New("has more than the name of a repository: a rule is for all of its tags")
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" {
			return Pattern{}, errors.New("has an empty part")
		}
		if strings.Contains(part, "*") && part != "*" && part != Any {
			return Pattern{}, errors.New("has a * within a part: * stands for a whole part, and ** for any number of them")
		}
		if part != strings.ToLower(part) {
			return Pattern{}, errors.New("has capitals, which no repository has")
		}
		if part != "*" && part != Any && !reference.IsRepository(part) {
			return Pattern{}, errors.New("has a part that is no name of small letters, digits, '.', '_' and '-', so it fits no repository")
		}
	}
	return Pattern{reference.Normal(text)}, nil
}

// String returns the pattern's text.
func (p Pattern) String() string { return p.text }

// Fits reports whether the pattern matches a source, or all sources that another pattern matches.
func (p Pattern) Fits(source string) bool {
	if p.text == Any {
		return true
	}
	return p.text != "" && fits(strings.Split(p.text, "/"), strings.Split(reference.Normal(source), "/"))
}

// fits reports whether a pattern matches the parts of a source. It backtracks only to the last **,
// since the length of an earlier match does not matter.
func fits(pattern, parts []string) bool {
	last, back := -1, 0
	p := 0
	for s := 0; s < len(parts); {
		switch {
		case p < len(pattern) && pattern[p] == Any:
			last, back = p, s
			p++
		case p < len(pattern) && (pattern[p] == parts[s] || pattern[p] == "*" && parts[s] != Any):
			p++
			s++
		case last >= 0:
			back++
			p, s = last+1, back
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == Any {
		p++
	}
	return p == len(pattern)
}
