package listing

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// printRoots prints each root with its state. For a root that was read, state returns the state.
// printRoots calls rest after each root, to print more about it. Missing roots are only counted,
// unless verbose is set.
func printRoots(p *console.Printer, roots []catalog.RootStatus, verbose bool, state func(catalog.RootStatus) string, rest func(catalog.RootStatus)) {
	absent, folded := 0, map[string]string{}
	if !verbose {
		folded = fold(p, roots)
	}
	for _, r := range roots {
		line, ok := folded[r.Label]
		switch {
		case r.IsAbsent() && !verbose:
			absent++
			continue
		case line != "":
			p.Line("  %s", console.Red.Of(line))
			continue
		case ok:
			continue
		}
		words := console.Style("").Of(state(r))
		switch {
		case r.Err != nil:
			words = console.Red.Of(doctor.UnreadReason(r))
		case r.Missing:
			words = console.Dim.Of("not there")
		}
		p.Line("  %s%s: %s", console.Bold.Of(r.Label), Folder(r.Root), words)
		rest(r)
	}
	if absent > 0 {
		p.Line("  %s", console.Dim.Of(display.Count(absent, "other folder")+" would be searched and "+map[bool]string{true: "is", false: "are"}[absent == 1]+" not there; "+p.Command("doctor", "--verbose")+" lists them"))
	}
}

// foldedFrom is the minimum number of roots that are printed as one line.
const foldedFrom = 3

// fold finds roots that cannot be read for the same reason, such as those in a home folder without
// permission. At least [foldedFrom] of them share one line. The result maps the label of the first
// one to that line, and the labels of the others to "".
func fold(p *console.Printer, roots []catalog.RootStatus) map[string]string {
	same := map[string][]catalog.RootStatus{}
	for _, r := range roots {
		if r.Err != nil && len(r.Notices) == 0 && r.Dir != "" {
			same[doctor.UnreadReason(r)] = append(same[doctor.UnreadReason(r)], r)
		}
	}
	lines := map[string]string{}
	for reason, all := range same {
		if len(all) < foldedFrom {
			continue
		}
		above := strings.Split(all[0].Name(), "/")
		for _, r := range all {
			lines[r.Label] = ""
			n := 0
			for _, part := range strings.Split(r.Name(), "/") {
				if n == len(above) || above[n] != part {
					break
				}
				n++
			}
			above = above[:n]
		}
		below := ""
		if folder := strings.Join(above, "/"); folder != "" {
			below = " below " + folder
		}
		lines[all[0].Label] = fmt.Sprintf("%d roots%s: %s; %s lists them", len(all), below, reason, p.Command("doctor", "--verbose"))
	}
	return lines
}
