package connection

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Gain is the number of skills that a client reads itself, and of those that knack adds. OwnTokens
// and Tokens are the approximate tokens of the two lists in the client's context.
type Gain struct {
	Own       int `json:"own"`
	OwnTokens int `json:"ownTokens"`
	Adds      int `json:"adds"`
	Tokens    int `json:"tokens"`
	// Doubtful has the names of the skills that the client finds itself but may leave out. They
	// count in Adds, and not in Own.
	Doubtful []string `json:"mayLeaveOut,omitempty"`
	Folder   string   `json:"folder,omitempty"` // the folder of the client's own skills, for people
}

// few is the largest number of skills for which a client's own list is as good as knack's. It takes
// fewer tokens.
const few = 20

// fewNames bounds the skills that are named in one line.
const fewNames = 3

// IsUseless reports whether the client does not need knack, since it reads all skills itself and
// they are few.
func (g *Gain) IsUseless() bool { return g != nil && g.Own > 0 && g.Adds == 0 && g.Own <= few }

// String describes the gain. It returns "" if there are no skills.
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
