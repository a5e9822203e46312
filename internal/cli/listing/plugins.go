package listing

import (
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// PrintPlugins prints a line for each plugin of which knack does not serve all skills.
func PrintPlugins(p *console.Printer, all []doctor.Plugin) {
	titled := titles(p)
	for _, x := range all {
		if x.Root == "" || x.Reason != "" {
			titled("plugins whose skills are not served")
			p.Line("  %s: %s", console.Bold.Of(display.OneLine(x.Title())), display.OneLine(x.Why()))
		}
	}
}
