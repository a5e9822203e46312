package admission

import (
	"path"
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

// uris returns the URIs that a candidate may have: by its name, and by its folder.
func uris(c *policy.Candidate) (all []string) {
	at := c.Path
	if at == "." {
		at = c.Folder()
	}
	paths := []string{at}
	if named := path.Join(path.Dir(at), c.Name); skill.ValidName(c.Name) && named != at {
		paths = append(paths, named)
	}
	for _, p := range paths {
		if uri, err := skill.MainURI(c.Root.Prefix, p); err == nil {
			all = append(all, uri.String())
		}
	}
	return all
}

// PatternFor returns a pattern for scan.accept that matches a skill's folder and name: its URI, or,
// if the two differ, the whole parent folder.
func PatternFor(e *catalog.Entry) string {
	uri := strings.ReplaceAll(strings.TrimSuffix(e.URI().String(), "/"+skill.MainFile), "*", "%2A")
	unread := &catalog.Entry{Skill: e.Skill, Root: e.Root, Status: catalog.Skipped}
	if p, err := access.ParsePattern(uri); err == nil && !p.FitsAll(unread) {
		uri = uri[:strings.LastIndexByte(uri, '/')+1] + "*"
	}
	return uri
}
