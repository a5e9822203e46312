package listing

import (
	"cmp"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool"
)

// mostTroubles bounds how many problems of one kind a brief report lists.
const mostTroubles = 3

// PrintBrief prints a short form of a doctor report: the problems that need action, a line for each
// root and client, and the counts.
func PrintBrief(p *console.Printer, d *doctor.Report) {
	troubles := d.Troubles()
	if len(troubles) == 0 {
		p.Line("no problems")
	}
	for _, t := range troubles {
		p.Line("%s (%d)", console.Red.Of(t.Title), len(t.All))
		for i, one := range t.All {
			if i == mostTroubles && len(t.All) > mostTroubles+1 {
				p.Line("  and %d more", len(t.All)-i)
				break
			}
			p.Line("  %s: %s", console.Bold.Of(display.OneLine(one.At)), display.OneLine(one.Why))
			if fix := cmp.Or(one.Run, one.Fix); fix != "" {
				p.Item(5, "    %s %s", fixWord, display.OneLine(fix))
			}
		}
	}
	for _, e := range d.View.Entries {
		for _, a := range doctor.AcceptedIn(d.Verdicts[e]) {
			p.Line("%s: accepted: %s", display.OneLine(e.Place()), a)
		}
	}
	r := report{d}
	p.Line("%s", rootsTitle)
	printRoots(p, d.View.Roots, false, r.briefState, func(catalog.RootStatus) {})
	if len(d.Clients) > 0 {
		p.Line("clients on this machine")
	}
	for _, c := range d.Clients {
		skills := ""
		if c.Skills != "" {
			skills = "; " + c.Skills
		}
		p.Line("  %s: %s%s", console.Bold.Of(c.Name), c.Status, skills)
		if c.Fix != "" {
			p.Item(5, "    %s %s", fixWord, c.Fix)
		}
	}
	for _, f := range d.Fits[:min(1, len(d.Fits))] {
		if f.Form != tool.FormWhole {
			p.Line("the list of skills takes %s characters, and there is room for %s: agents find the others with find_skills", display.Thousands(f.Need), display.Thousands(f.Budget))
		}
	}
	p.Line("%s", r.summaryLine()+", "+p.Command("doctor", "--all")+" everything")
}
