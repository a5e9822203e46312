package cli

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/listing"
	"github.com/knack-dev/knack/internal/clientconfig/connection"
	"github.com/knack-dev/knack/skill"
)

// Text describes the skills of a view and the connected clients. An argument that came too late is
// empty.
func Text(v catalog.View, all []connection.Connection) string {
	late := v.Snapshot == nil || v.Incomplete() != nil
	skills, own, roots, broken := 0, 0, 0, 0
	if v.Snapshot != nil {
		for _, e := range v.Entries {
			switch {
			case e.Status != catalog.Available:
			case e.Root.Scope == skill.ScopeBuiltin:
				own++
			default:
				skills++
			}
		}
		for _, r := range v.Roots {
			if r.Count > 0 && r.Scope != skill.ScopeBuiltin {
				roots++
			}
			if s := r.State(); s == catalog.RootUnreadable || s == catalog.RootUnreachable {
				broken++
			}
		}
	}
	lines := make([]string, 5)
	found, list := "no skills", "knack add SOURCE installs some, and knack new NAME writes one"
	if skills > 0 {
		found, list = display.Count(skills, "skill")+" in "+display.Count(roots, "root"), "knack list       shows them"
	}
	lines[0] = fmt.Sprintf("knack finds %s here, besides the %d built in.", found, own)
	if late {
		lines[0] = "knack finds " + found + " so far; not everything could be read in a second."
		list = "knack list       waits until it is"
	}
	lines[1] = list
	lines[2] = "knack doctor     says where skills are looked for, and what became of each"
	wrong := listing.Unserved(v)
	if broken > 0 {
		wrong = append(wrong, display.Count(broken, "root")+" unreadable")
	}
	if len(wrong) > 0 {
		lines[2] = "knack doctor     says why: " + strings.Join(wrong, ", ")
	}
	lines[3] = "knack connect    " + connected(all)
	lines[4] = "knack --help     shows all commands"
	return strings.Join(lines, "\n  ") + "\n"
}

// connected names the clients of this machine that are connected, and those that are not.
func connected(all []connection.Connection) string {
	var with, without []string
	for _, c := range all {
		switch {
		case c.Works():
			with = append(with, c.Name)
		case c.Here:
			without = append(without, c.Name)
		}
	}
	switch {
	case len(without) > 0:
		return "connects " + few(without)
	case len(with) > 0:
		return "lists the clients; connected: " + few(with)
	case len(all) > 0:
		return "connects a client; none was found here"
	}
	return "shows how the clients here are connected"
}

// few returns the names of the first few clients.
func few(names []string) string {
	if n := len(names); n > 3 {
		return fmt.Sprintf("%s and %d more", names[0], n-1)
	}
	return strings.Join(names, ", ")
}
