package tool

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// What a model is told of roots that are not read, and of folders in them that are
// passed over: a skill that may lie there is not said to be absent in silence. They
// are named by the root's label, so that no path of the host is shown.

// unreadHints is how many roots one not-found answer names.
const unreadHints = 3

// unread says of each root that is not read why, and what to do.
func unread(v catalog.View) []problem {
	var out []problem
	for _, r := range v.Roots {
		reason, mend := r.Reason()
		if reason == "" {
			continue
		}
		out = append(out, problem{root: r.Label, reason: reason + " (" + mend + ")"})
	}
	return out
}

// passedOver says of each folder that is passed over why; where names are given,
// only of those that are called so.
func passedOver(v catalog.View, names []skill.Key) []problem {
	var out []problem
	for _, r := range v.Roots {
		for _, n := range r.Notices {
			name := path.Base(n.Path)
			if n.Path == "." {
				name = r.Label
			}
			if names != nil && !slices.Contains(names, skill.KeyOf(name)) {
				continue
			}
			why := skill.Echo(r.Label+"/"+n.Path) + ": " + Cut(skill.OneLine(n.Message), reasonLength)
			if n.Mend != "" {
				why += " (" + Cut(skill.OneLine(n.Mend), reasonLength) + ")"
			}
			out = append(out, problem{skill: skill.Echo(name), reason: why})
		}
	}
	return out
}

// line is one problem in the text of an answer.
func (p problem) line() string {
	if p.root != "" {
		return fmt.Sprintf("Skills of the root '%s' may be missing: %s", p.root, p.reason)
	}
	return fmt.Sprintf("'%s' was skipped: %s", p.skill, p.reason)
}

// namesIn are the names that a query may mean: the whole of it, and its words.
func namesIn(query string) []skill.Key {
	cut := skill.CutBytes(query, skill.EchoLimit)
	words := strings.Fields(cut)
	names := []skill.Key{skill.KeyOf(cut)}
	for _, w := range words[:min(len(words), queryWords)] {
		names = append(names, skill.KeyOf(w))
	}
	return names
}
