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

// mostLines bounds the number of roots, and of clients, in the overview.
const mostLines = 5

// Text returns the overview: the skills of a view, their roots, how many of them the clients here
// see, and the command that helps most. An argument that was not ready in time is empty.
func Text(v catalog.View, all []connection.Connection) string {
	late := v.Snapshot == nil || v.Incomplete() != nil
	skills, broken := 0, 0
	var roots [][2]string
	if v.Snapshot != nil {
		for _, e := range v.Entries {
			if e.Status == catalog.Available && e.Root.Scope != skill.ScopeBuiltin {
				skills++
			}
		}
		for _, r := range v.Roots {
			if r.Count > 0 && r.Scope != skill.ScopeBuiltin {
				roots = append(roots, [2]string{r.Name(), display.Count(r.Count, "skill")})
			}
			if s := r.State(); s == catalog.RootUnreadable || s == catalog.RootUnreachable {
				broken++
			}
		}
	}
	found := "no skills"
	if skills > 0 {
		found = display.Count(skills, "skill")
	}
	var b strings.Builder
	switch {
	case late:
		fmt.Fprintf(&b, "knack finds %s so far; not everything could be read in a second.\n", found)
	case skills == 0:
		b.WriteString("knack finds no skills here, besides the 2 built in.\n")
	default:
		fmt.Fprintf(&b, "knack finds %s here, besides the 2 built in.\n", found)
	}
	rows(&b, "Found in", roots)
	rows(&b, "Seen by", seen(skills, all))
	wrong := listing.Unserved(v)
	if broken > 0 {
		wrong = append(wrong, display.Count(broken, "root")+" unreadable")
	}
	next := [][2]string{}
	switch best := mostGaining(all); {
	case late:
		next = append(next, [2]string{"knack list", "waits until everything is read"})
	case best != nil:
		next = append(next, [2]string{"knack connect " + best.Client + " --write", "gives " + best.Name + " " + display.Count(best.Gain.Adds, "more skill")})
	case skills == 0 && len(wrong) == 0:
		next = append(next, [2]string{"knack add OWNER/REPOSITORY", "installs skills from GitHub"}, [2]string{"knack new NAME", "writes one to start from"})
	case len(wrong) == 0:
		next = append(next, [2]string{"knack list", "shows the skills"})
	}
	if len(wrong) > 0 {
		next = append(next, [2]string{"knack doctor", "says why: " + strings.Join(wrong, ", ")})
	}
	rows(&b, "Next", append(next, [2]string{"knack --help", "shows all commands"}))
	return b.String()
}

// rows writes lines of two columns. A title comes before them.
func rows(b *strings.Builder, title string, all [][2]string) {
	width := 0
	for _, r := range all[:min(len(all), mostLines)] {
		width = max(width, display.Columns(r[0]))
	}
	for i, r := range all {
		if i == 0 {
			b.WriteString(title + ":\n")
		}
		if i == mostLines {
			fmt.Fprintf(b, "  and %d more\n", len(all)-i)
			return
		}
		fmt.Fprintf(b, "  %s%s  %s\n", r[0], strings.Repeat(" ", width-display.Columns(r[0])), r[1])
	}
}

// seen returns a row for each client on this machine, with the number of skills that it sees.
func seen(skills int, all []connection.Connection) (out [][2]string) {
	for _, c := range all {
		words := "not connected"
		if c.Works() {
			words = "connected"
		}
		switch g := c.Gain; {
		case !c.Here && !c.Works():
			continue
		case skills == 0 || g == nil:
		case g.Adds == 0:
			words = "all, without knack"
		case c.Works():
			words = fmt.Sprintf("all, %d of them through knack", g.Adds)
		default:
			words = fmt.Sprintf("%d of %d", g.Own, g.Own+g.Adds)
		}
		out = append(out, [2]string{c.Name, words})
	}
	return out
}

// mostGaining returns the unconnected client on this machine to which knack would add the most
// skills, or nil.
func mostGaining(all []connection.Connection) (best *connection.Connection) {
	for i := range all {
		c := &all[i]
		if c.Here && !c.Works() && c.Gain != nil && c.Gain.Adds > 0 && (best == nil || c.Gain.Adds > best.Gain.Adds) {
			best = c
		}
	}
	return best
}
