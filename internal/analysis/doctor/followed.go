package doctor

import (
	"time"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
)

// Followed is the JSON form of a source that a server follows, with the store's record of the
// source. The source itself is not asked.
type Followed struct {
	Name      string     `json:"name"` // the label of its root
	From      string     `json:"from"`
	Release   string     `json:"release,omitempty"` // the digest of the release that is served
	Version   string     `json:"version,omitempty"`
	Signature string     `json:"signature,omitempty"` // the state of its last check
	Signer    string     `json:"signer,omitempty"`
	Since     *time.Time `json:"since,omitempty"` // when it was first served
	Skills    int        `json:"skills"`
	Error     string     `json:"error,omitempty"` // why there is no release
	Fix       string     `json:"fix,omitempty"`
}

// PrintFollowed prints a line for each source, and nothing without any.
func PrintFollowed(p *console.Printer, all []Followed) {
	if len(all) > 0 {
		p.Line("sources, as the store has them")
	}
	for _, f := range all {
		words := console.Style("").Of(f.words())
		if f.Error != "" {
			words = console.Red.Of(f.Error + " (" + f.Fix + ")")
		}
		p.Line("  %s%s: %s", console.Bold.Of(f.Name), console.Dim.Of(" ("+display.OneLine(f.From)+")"), words)
	}
}

func (f Followed) words() string {
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
