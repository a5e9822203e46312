package admission

import (
	"strings"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/policy"
	"github.com/knack-dev/knack/skill"
)

type pattern = access.Pattern

// entryOf returns a candidate as an entry without a URI, for matching with patterns.
func entryOf(c *policy.Candidate) *catalog.Entry {
	return &catalog.Entry{Skill: c.Skill, Root: &c.Root, Status: catalog.Skipped}
}

// uris returns the URIs that a candidate may have.
func uris(c *policy.Candidate) (all []string) {
	bases, next := (*catalog.Snapshot)(nil).PossibleBases(entryOf(c), "")
	for _, base := range append(bases, next) {
		if uri, err := skill.MainURI("", base); err == nil {
			all = append(all, uri.String())
		}
	}
	return all
}

// PatternFor returns a pattern for scan.accept that matches every possible URI of a skill. The
// pattern is the URI itself if the skill can have no other. Otherwise, it covers the parent folder
// or, if need be, all skills.
func PatternFor(e *catalog.Entry) string {
	uri := strings.ReplaceAll(strings.TrimSuffix(e.URI().String(), "/"+skill.MainFile), "*", "%2A")
	unread := &catalog.Entry{Skill: e.Skill, Root: e.Root, Status: catalog.Skipped}
	for _, text := range []string{uri, uri[:strings.LastIndexByte(uri, '/')+1] + "*"} {
		if p, err := access.ParsePattern(text); err == nil && p.FitsAll(unread) {
			return text
		}
	}
	return skill.Scheme + "**"
}
