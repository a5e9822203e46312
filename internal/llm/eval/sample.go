package eval

import (
	"path"
	"sort"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Sample returns a filter that shows a skill and n other skills. It chooses the others only by
// their URIs. So they are the same each time and for every skill, except for the skill itself, and
// a new skill replaces at most one of them.
func Sample(all []*catalog.Entry, e *catalog.Entry, n int) *catalog.Filter {
	var others []*catalog.Entry
	for _, o := range all {
		if !o.SameURI(e) {
			others = append(others, o)
		}
	}
	digest := func(e *catalog.Entry) string {
		d := skill.DigestOf([]byte(e.URI().String()))
		return string(d[:])
	}
	sort.Slice(others, func(i, j int) bool { return digest(others[i]) < digest(others[j]) }) // slices.SortFunc takes 20 KB of the binary for each type
	type place struct{ root, path string }
	chosen := map[place]bool{{e.Root.Label, e.Path}: true}
	for _, o := range others[:min(n, len(others))] {
		chosen[place{o.Root.Label, o.Path}] = true
	}
	return &catalog.Filter{Visible: func(e *catalog.Entry) bool {
		// Skills inside a chosen skill stay visible, since hiding them would hide the chosen skill
		// too.
		for at := e.Path; ; at = path.Dir(at) {
			if chosen[place{e.Root.Label, at}] {
				return true
			}
			if at == "." || at == "/" || at == "" {
				return false
			}
		}
	}}
}
