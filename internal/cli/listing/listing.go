// Package listing prints the text of list, search and doctor: skills, roots, sources and locks.
package listing

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/realpath"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool"
)

// Print prints the names, files and descriptions of skills. Descriptions are shortened to the width
// of the terminal. With all, it also prints the unavailable skills, the plugins, the project's
// settings and the locks. locked has the state of each skill that a lock covers.
func Print(p *console.Printer, v catalog.View, all bool, settings []string, plugins []doctor.Plugin, locked map[*catalog.Entry]catalog.Locked) {
	width := 0
	for _, e := range v.Entries {
		if e.Status == catalog.Available {
			width = max(width, NameWidth(p, e.Name))
		}
	}
	label := ""
	for _, e := range v.Entries {
		if e.Status != catalog.Available {
			continue
		}
		if e.Root.Label != label {
			label = e.Root.Label
			p.Line("%s%s", console.Bold.Of(label), Folder(*e.Root))
		}
		Skill(p, e, e.Name, width)
	}
	if all {
		printHidden(p, v)
		PrintPlugins(p, plugins)
	}
	if all && len(settings) > 0 {
		p.Line("settings")
		for _, s := range settings {
			p.Line("  %s", s)
		}
	}
	if all {
		PrintLocks(p, v, locked)
	}
	p.Line("%s", summary(p, v, all))
	for _, l := range v.Locks() {
		if l.NMissing > 0 {
			p.Line("%s of %s %s missing: %s", display.Count(l.NMissing, "locked skill"), l.Name, map[bool]string{true: "is", false: "are"}[l.NMissing == 1], l.Restore)
		}
	}
}

// widestName is the maximum width, in columns, of a name that other names are aligned with.
const widestName = 40

// NameWidth returns the columns that a name takes in a list with an aligned second column. It
// returns 0 for a name that is too long, which gets a separate line.
func NameWidth(p *console.Printer, called string) int {
	columns, most := display.Columns(console.OneLine(called)), widestName
	if room := p.Room(0); room > 0 {
		most = min(most, room/2)
	}
	if columns > most {
		return 0
	}
	return columns
}

// Skill prints a skill in one line. called is the name that loads it.
func Skill(p *console.Printer, e *catalog.Entry, called string, width int) {
	name := console.OneLine(called)
	pad := strings.Repeat(" ", max(width-display.Columns(name), 0))
	mark := ""
	if !e.ModelInvocable {
		mark = "(not for models) "
	}
	room := cmp.Or(p.Room(display.Columns(name+pad+mark)+4), 100)
	description := skill.Brief(console.OneLine(e.Description), room, display.CutColumns)
	p.Item(width+2, "  %s%s  %s%s", console.Bold.Of(name), pad, mark, description)
}

func printHidden(p *console.Printer, v catalog.View) {
	titled := titles(p)
	for _, group := range []struct {
		status catalog.Status
		title  string
	}{{catalog.Shadowed, "shadowed"}, {catalog.Copy, "copied"}} {
		for _, e := range v.Entries {
			if e.Status == group.status {
				titled(group.title)
				printShadowed(p, v, e)
			}
		}
	}
	for _, e := range v.Entries {
		if e.Status == catalog.Unlisted {
			titled("unlisted")
			p.Line("  %s  is in an excluded root; load it as %s", console.Bold.Of(e.Place()), v.Called(e))
		}
	}
	skipped, heldBack := doctor.SplitSkipped(v)
	for _, e := range skipped {
		titled("skipped")
		place, reason, _ := strings.Cut(tool.Reason(e), ": ")
		p.Line("  %s: %s", console.Bold.Of(place), reason)
	}
	for _, e := range heldBack {
		titled("held back")
		why, fix := doctor.HeldReason(e)
		p.Line("  %s: %s (%s)", console.Bold.Of(e.Place()), display.OneLine(why), display.OneLine(fix))
	}
	for _, e := range v.Entries { // the unread spellings of SKILL.md
		if e.Entry != "" && len(e.Others()) > 0 {
			titled("not read")
			p.Line("  %s  is beside %s", console.Bold.Of(strings.Join(e.Others(), ", ")), e.Place())
		}
	}
	titled("roots")
	printRoots(p, v.Roots, false, func(r catalog.RootStatus) string { return fmt.Sprintf("%d found", r.Count) }, func(r catalog.RootStatus) {
		for _, n := range r.Notices {
			p.Line("    %s", display.OneLine(doctor.NoticeLine(n.Path, n)))
		}
	})
}

// printShadowed prints a shadowed skill or a copy in one line.
func printShadowed(p *console.Printer, v catalog.View, e *catalog.Entry) {
	what := "has the same name as"
	if e.Status == catalog.Copy {
		what = copyOf(e)
	}
	p.Line("  %s  %s %s; load it as %s", console.Bold.Of(e.Place()), what, e.By.Place(), v.Called(e))
}

// copyOf describes how a copy relates to the skill that wins.
func copyOf(e *catalog.Entry) string {
	switch same := e.Dir() != "" && realpath.Same(e.Dir(), e.By.Dir()); {
	case same && e.Link() == "":
		return "is the target of the link"
	case same && e.By.Link() == "":
		return "is a link to"
	case same:
		return "is a link to the same folder as"
	}
	return "is a copy of"
}

// titles returns a function that prints a title unless it has just printed the same one.
func titles(p *console.Printer) func(title string) {
	last := ""
	return func(title string) {
		if title != last {
			last = title
			p.Line("%s", title)
		}
	}
}

// Folder returns the folder of a root, as it follows the label in the heading.
func Folder(r skill.Root) console.Painted {
	return console.Dim.Of(strings.TrimPrefix(doctor.Heading(r), r.Label))
}

// PrintUnserved prints the first skipped skills and the first held-back skills, with the reasons.
func PrintUnserved(p *console.Printer, v catalog.View) {
	skipped, heldBack := doctor.SplitSkipped(v)
	for _, group := range []struct {
		title  string
		skills []*catalog.Entry
	}{{"Skipped:", skipped}, {"Held back by the operator's policy:", heldBack}} {
		for i, e := range group.skills {
			if i == 0 {
				p.Line("%s", group.title)
			}
			if i == 10 {
				p.Line("  and %d more; %s shows them", len(group.skills)-i, p.Command("list", "--all"))
				break
			}
			p.Line("  %s", tool.Reason(e))
		}
	}
}

// Unserved returns the number of skipped skills and of held-back skills, in words. It leaves out a
// number that is 0.
func Unserved(v catalog.View) (parts []string) {
	n := judgement.StatusesOf(v)
	if n.Skipped > 0 {
		parts = append(parts, display.Count(n.Skipped, "skill")+" skipped")
	}
	if n.Held > 0 {
		parts = append(parts, display.Count(n.Held, "skill")+" held back")
	}
	return parts
}

// notAvailable returns the number of skills for each status except available: ", 1 shadowed, 1
// copied".
func notAvailable(n judgement.Statuses) (s string) {
	for _, part := range n.Unavailable() {
		s += fmt.Sprintf(", %d %s", part.N, part.Word())
	}
	return s
}

func summary(p *console.Printer, v catalog.View, all bool) string {
	n := judgement.StatusesOf(v)
	s := display.Count(n.Available, "skill")
	s += notAvailable(n)
	failed, notices := 0, 0
	for _, r := range v.Roots {
		notices += len(r.Notices)
		if r.Err != nil {
			failed++
		}
	}
	if failed > 0 {
		s += ", " + display.Count(failed, "root") + " not readable"
	}
	if notices > 0 {
		s += ", " + display.Count(notices, "notice")
	}
	if !all && n.Skills-n.Available+failed+notices > 0 {
		s += " (" + p.Command("list", "--all") + " shows which and why)"
	}
	return s
}
