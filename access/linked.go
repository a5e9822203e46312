package access

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// linked reports whether a skill was found through a link to a hidden skill. Such a skill is hidden
// if a rule denies the link's target in one of the roots. It is also hidden if the target is in a
// different root than the link, and no rule allows it there. Without this check, the authors of one
// root could show the skills of another.
func linked(rules []*Rule, allow bool, e *catalog.Entry, roots []catalog.RootStatus) bool {
	if e.Bundle == nil || e.Link() == "" {
		return false
	}
	for i := range roots {
		root := &roots[i].Root
		// A link on the way to a root may have been replaced since the start.
		for _, real := range []string{root.Real, roots[i].Led} {
			at := target(e, root, real)
			if at != nil && (deniesOne(rules, root, deniablePlaces(nil, at)) || !allow && root.Label != e.Root.Label && !allowsAll(rules, root, places(nil, at))) {
				return true
			}
		}
	}
	return false
}

// target returns an entry for the target of a skill's link, in the form of a skipped skill of the
// root. It returns nil if the target is not in the root. real is the real path of the root.
func target(e *catalog.Entry, root *skill.Root, real string) *catalog.Entry {
	separator := string(filepath.Separator)
	rest, ok := strings.CutPrefix(e.Link()+separator, strings.TrimSuffix(real, separator)+separator)
	if real == "" || !ok {
		return nil
	}
	at := cmp.Or(strings.TrimSuffix(filepath.ToSlash(rest), "/"), ".")
	return &catalog.Entry{Skill: &skill.Skill{Name: e.Name, Bundle: &skill.Bundle{Path: at, In: root}}, Root: root, Status: catalog.Skipped}
}

// around returns the real paths of the folders around the skills that rules deny. It does so only
// if the snapshot contains links, which could lead to these folders. The files of a denied skill
// also belong to the skills around it, and a scan lists a folder only by the first path to it.
func around(rules []*Rule, allow bool, s *catalog.Snapshot) map[string]bool {
	if len(denied(rules)) == 0 || !slices.ContainsFunc(s.Entries, func(e *catalog.Entry) bool { return e.Bundle != nil && e.Link() != "" }) {
		return nil
	}
	all := map[string]bool{}
	for _, e := range s.Entries {
		real := realOf(e, s.Roots)
		if real == "" || !deniesOne(rules, e.Root, deniablePlaces(s, e)) && !linked(rules, allow, e, s.Roots) {
			continue
		}
		for at := filepath.Dir(real); !all[at]; at = filepath.Dir(at) {
			all[at] = true
		}
	}
	return all
}

// realOf returns the path of a skill's folder without links, or "" if it is not known.
func realOf(e *catalog.Entry, roots []catalog.RootStatus) string {
	if e.Bundle == nil {
		return ""
	}
	if e.Link() != "" {
		return e.Link()
	}
	i := slices.IndexFunc(roots, func(r catalog.RootStatus) bool { return r.Label == e.Root.Label })
	if i < 0 || cmp.Or(roots[i].Led, roots[i].Real) == "" {
		return ""
	}
	return filepath.Join(cmp.Or(roots[i].Led, roots[i].Real), filepath.FromSlash(e.Path))
}
