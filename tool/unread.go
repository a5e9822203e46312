package tool

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/internal/listing"
)

// Notes for a model about unread roots and skipped folders, which may contain a missing skill. They
// name a root by its label, never by its path on the host.

// unreadHints is the number of roots that one not-found answer names.
const unreadHints = 3

// unread returns a problem for each unread root, with the reason and the fix.
func unread(v catalog.View) []problem {
	var out []problem
	for _, r := range v.Roots {
		reason, fix := r.Reason()
		if reason == "" {
			continue
		}
		out = append(out, problem{root: r.Label, reason: reason + " (" + fix + ")"})
	}
	return out
}

// skippedFolders returns a problem for each skipped folder, with the reason. If names are given, it
// considers only folders with these names.
func skippedFolders(v catalog.View, names []skill.Key) []problem {
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
			why := display.Echo(r.Label+"/"+n.Path) + ": " + listing.Quote(n.Message)
			if n.Fix != "" {
				why += " (" + listing.Fix(n.Fix) + ")"
			}
			out = append(out, problem{skill: display.Echo(name), reason: why})
		}
	}
	return out
}

// line returns the problem as a line of an answer.
func (p problem) line() string {
	if p.root != "" {
		return fmt.Sprintf("Skills of the root '%s' may be missing: %s", p.root, p.reason)
	}
	return fmt.Sprintf("'%s' was skipped: %s", p.skill, p.reason)
}

// namesIn returns the names that a query may mean: the whole query, and each of its first words.
func namesIn(query string) []skill.Key {
	cut := display.CutBytes(query, display.EchoLimit)
	words := strings.Fields(cut)
	names := []skill.Key{skill.KeyOf(cut)}
	for _, w := range words[:min(len(words), queryWords)] {
		names = append(names, skill.KeyOf(w))
	}
	return names
}
