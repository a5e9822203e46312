package access

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// FitsAny reports whether the pattern matches at least one possible place of the skill. A skill
// with a URI has that one place. Any other skill has each place that its folder and its name could
// give it. A name that was not read matches every pattern. Rules that restrict use FitsAny.
func (p Pattern) FitsAny(e *catalog.Entry) bool {
	return slices.ContainsFunc(deniablePlaces(nil, e), func(at []string) bool { return matchAll(p.segments, at) })
}

// FitsAll reports whether the pattern matches every possible place of the skill. Rules that permit
// use FitsAll.
func (p Pattern) FitsAll(e *catalog.Entry) bool {
	return !slices.ContainsFunc(places(nil, e), func(at []string) bool { return !matchAll(p.segments, at) })
}

// FitsURI reports whether the pattern matches the URI of a skill.
func (p Pattern) FitsURI(uri skill.URI) bool {
	return matchAll(p.segments, strings.Split(strings.TrimSuffix(uri.Path(), "/"+skill.MainFile), "/"))
}
