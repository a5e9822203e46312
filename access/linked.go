package access

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// linked reports whether a skill was found through a link, and a rule denies the folder to
// which the link leads in one of the roots. Otherwise a link in one root would show what is
// hidden in another.
func linked(rules []*Rule, e *catalog.Entry, roots []catalog.RootStatus) bool {
	if e.Bundle == nil || e.Link() == "" {
		return false
	}
	for i := range roots {
		root := &roots[i].Root
		// A link on the way to a root may have been replaced since the start.
		for _, at := range append(target(e, root, root.Real), target(e, root, roots[i].Led)...) {
			for _, r := range rules {
				if slices.ContainsFunc(r.Deny, func(one Pattern) bool { return denies(rules, one, root, at) }) {
					return true
				}
			}
		}
	}
	return false
}

// target returns the places of a skill if it were found in a root, which is at the path real,
// by the path to which its link leads: by its folder's name and by its own. There are none if
// that path is not in the root.
func target(e *catalog.Entry, root *skill.Root, real string) [][]string {
	separator := string(filepath.Separator)
	rest, ok := strings.CutPrefix(e.Link()+separator, strings.TrimSuffix(real, separator)+separator)
	if real == "" || !ok {
		return nil
	}
	var at []string
	if root.Prefix != "" {
		at = append(at, root.Prefix)
	}
	if rest = strings.TrimSuffix(filepath.ToSlash(rest), "/"); rest == "" {
		rest = filepath.Base(root.Dir)
	}
	at = append(at, strings.Split(rest, "/")...)
	return [][]string{at, append(slices.Clone(at[:len(at)-1]), cmp.Or(e.Name, anyName))}
}
