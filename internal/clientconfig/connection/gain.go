package connection

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Gain is the number of skills that a client reads itself, and of the skills that knack adds. The
// tokens are those of the two lists in the client's context, about.
type Gain struct {
	Own       int `json:"own"`
	OwnTokens int `json:"ownTokens"`
	Adds      int `json:"adds"`
	Tokens    int `json:"tokens"`
	// Doubtful has the names of the skills that the client finds too, and may leave out. Adds counts
	// them, and Own does not.
	Doubtful []string `json:"mayLeaveOut,omitempty"`
	Folder   string   `json:"folder,omitempty"` // of the client's own skills, for people
}

// few is the number of skills up to which a client's own list is as good as knack's, for fewer
// tokens.
const few = 20

// fewNames is the number of skills that are named in one line.
const fewNames = 3

// IsUseless reports whether the client needs no knack: it reads all skills itself, and they are few.
func (g *Gain) IsUseless() bool { return g != nil && g.Own > 0 && g.Adds == 0 && g.Own <= few }

// String describes the gain, or is empty without any skill.
func (g *Gain) String() string {
	if g == nil || g.Own+g.Adds == 0 {
		return ""
	}
	own := "reads none of the skills itself"
	if n := g.Own + len(g.Doubtful); n > 0 {
		own = "reads " + display.Count(n, "skill") + " itself"
	}
	if g.Own > 0 {
		own += fmt.Sprintf(" (about %s tokens)", display.Thousands(g.OwnTokens))
	}
	comma := ","
	if n := len(g.Doubtful); n > 0 {
		own += ", but may leave out " + display.OneLine(strings.Join(g.Doubtful[:min(n, fewNames)], ", "))
		if n > fewNames {
			own += fmt.Sprintf(" and %d more", n-fewNames)
		}
		comma = ";"
	}
	switch {
	case g.Adds > 0:
		return fmt.Sprintf("%s%s knack adds %s (about %s tokens)", own, comma, display.Thousands(g.Adds), display.Thousands(g.Tokens))
	case !g.IsUseless():
		return own + ", and knack adds none"
	case g.Folder == "":
		return own + ", and knack adds none, so it does not need knack"
	}
	return own + ", and knack adds none, so it does not need knack; its own folder is " + g.Folder
}
