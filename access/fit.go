package access

import (
	"slices"

	"github.com/knack-dev/knack/catalog"
)

// FitsAny reports whether the pattern fits one of the places that the skill may have: its URI or, if
// the skill has none, those that its folder and its name could give it. An unread name fits every
// pattern. A rule that restricts uses it.
func (p Pattern) FitsAny(e *catalog.Entry) bool {
	return slices.ContainsFunc(places(e, anyName), func(at []string) bool { return matchAll(p.segments, at) })
}

// FitsAll reports whether the pattern fits each of the places that the skill may have. A rule that
// permits uses it.
func (p Pattern) FitsAll(e *catalog.Entry) bool {
	return !slices.ContainsFunc(places(e, ""), func(at []string) bool { return !matchAll(p.segments, at) })
}
