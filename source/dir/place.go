package dir

import (
	"slices"
	"strings"
)

// MaxDepth is the number of levels that are searched below a root.
const MaxDepth = maxDepth

// Place is a folder below a root in which there may be skills.
type Place struct {
	Path string // slash-separated, "." for the root itself
	// From and To bound the number of levels below Path at which a skill may be. If From is 0, Path
	// itself may be a skill.
	From, To int
}

// holds reports whether a skill may be at a path below the root.
func (p Place) holds(at string) bool {
	n, ok := p.below(at)
	return ok && n >= p.From && n <= p.To
}

// leads reports whether a skill may be at a path or below it.
func (p Place) leads(at string) bool {
	n, ok := p.below(at)
	return ok && n <= p.To || at == "." || strings.HasPrefix(p.Path, at+"/")
}

// below returns the number of levels from the place to a path. ok is false if the path is not below
// the place.
func (p Place) below(at string) (levels int, ok bool) {
	if p.Path == at {
		return 0, true
	}
	if p.Path != "." {
		if at, ok = strings.CutPrefix(at, p.Path+"/"); !ok {
			return 0, false
		}
	}
	return 1 + strings.Count(at, "/"), true
}

// mayHoldSkill reports whether the scan looks for a skill in a folder.
func (w *walk) mayHoldSkill(at string) bool {
	places := w.source.opt.Places
	return places == nil || slices.ContainsFunc(places, func(p Place) bool { return p.holds(at) })
}

// searched returns the entries of a folder that a scan enters. In a skill, the scan enters every
// folder, to see changes there.
func (w *walk) searched(p *node, children []child) []child {
	places := w.source.opt.Places
	if places == nil || p.skill != nil {
		return children
	}
	return slices.DeleteFunc(children, func(c child) bool {
		at := join(p.path, c.name)
		return (c.folder || c.link) && !slices.ContainsFunc(places, func(p Place) bool { return p.leads(at) })
	})
}
