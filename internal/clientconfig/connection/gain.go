package connection

import (
	"fmt"

	"github.com/knack-dev/knack/internal/base/display"
)

// Gain is the number of skills that a client reads itself, and of the skills that knack adds. The
// tokens are those of the two lists in the client's context, about.
type Gain struct {
	Own       int    `json:"own"`
	OwnTokens int    `json:"ownTokens"`
	Adds      int    `json:"adds"`
	Tokens    int    `json:"tokens"`
	Folder    string `json:"folder,omitempty"` // of the client's own skills, for people
}

// few is the number of skills up to which a client's own list is as good as knack's, for fewer
// tokens.
const few = 20

// IsUseless reports whether the client needs no knack: it reads all skills itself, and they are few.
func (g *Gain) IsUseless() bool { return g != nil && g.Own > 0 && g.Adds == 0 && g.Own <= few }

// String describes the gain, or is empty without any skill.
func (g *Gain) String() string {
	if g == nil || g.Own+g.Adds == 0 {
		return ""
	}
	own := fmt.Sprintf("reads %s itself (about %s tokens)", display.Count(g.Own, "skill"), display.Thousands(g.OwnTokens))
	if g.Own == 0 {
		own = "reads none of the skills itself"
	}
	switch {
	case g.Adds > 0:
		return fmt.Sprintf("%s, knack adds %s (about %s tokens)", own, display.Thousands(g.Adds), display.Thousands(g.Tokens))
	case !g.IsUseless():
		return own + ", and knack adds none"
	case g.Folder == "":
		return own + ", and knack adds none, so it does not need knack"
	}
	return own + ", and knack adds none, so it does not need knack; its own folder is " + g.Folder
}
