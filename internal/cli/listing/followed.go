package listing

import (
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// PrintFollowed prints a line for each source that a server follows.
func PrintFollowed(p *console.Printer, all []doctor.Followed) {
	if len(all) > 0 {
		p.Line("sources, as the store has them")
	}
	for _, f := range all {
		words := console.Style("").Of(sourceLine(f))
		if f.Error != "" {
			words = console.Red.Of(f.Error + " (" + f.Fix + ")")
		}
		p.Line("  %s%s: %s", console.Bold.Of(f.Name), console.Dim.Of(" ("+display.OneLine(f.From)+")"), words)
		if f.Failure != "" && f.Error == "" {
			p.Line("    %s", console.Red.Of(display.OneLine(f.Failed())))
		}
	}
}

// sourceLine describes the stored release of a source.
func sourceLine(f doctor.Followed) string {
	text := display.Count(f.Skills, "skill")
	if f.Version != "" {
		text += ", version " + display.OneLine(f.Version)
	}
	text += ", " + f.Release[:min(len(f.Release), 19)]
	switch f.Signature {
	case "signed":
		text += ", signed by " + display.OneLine(f.Signer[:min(len(f.Signer), 16)])
	case "", "unsigned":
		text += ", not signed"
	default:
		text += ", " + display.OneLine(f.Signature)
	}
	if f.Since != nil {
		text += ", served since " + f.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	}
	return text
}
