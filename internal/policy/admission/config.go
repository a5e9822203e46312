package admission

import (
	"time"

	"github.com/knack-dev/knack/access"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
)

// Config is the section scan of a configuration file: how the operator wants a server to treat the
// findings of a scan.
type Config struct {
	Mode    string                     // one of Modes; "" if the file lacks the key
	Rules   map[skill.RuleID]scan.Lane // rules moved to another lane; "" is off
	Accept  []Accept
	Approve []access.Pattern // the skills that need an approval to be served
	File    string           // the file of the section, for people
}

// Accept is an item of scan.accept. The findings that it describes do not hold a skill back.
type Accept struct {
	Rule   skill.RuleID
	Skill  access.Pattern
	Set    skill.Digest // of the skill's files; zero means any
	Until  time.Time    // the last day, at 0:00 in UTC; zero means no end
	Reason string
	Line   int // of the item in its file; 0 if the item is not in a file
}

// End returns the end of the last day, or the zero time if the acceptance has no end.
func (a *Accept) End() time.Time {
	if a.Until.IsZero() {
		return a.Until
	}
	return a.Until.AddDate(0, 0, 1)
}

// The values of the key scan.mode.
const (
	Off     = "off"
	Review  = "review"
	Enforce = "enforce"
)

// Modes are the values of the key scan.mode. The first is the default.
var Modes = []string{Off, Review, Enforce}
