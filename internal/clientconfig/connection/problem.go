package connection

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"

	"github.com/knack-dev/knack/internal/base/edit"
	"github.com/knack-dev/knack/internal/clientconfig"
)

// Problem is the reason that an entry is not written or has no effect, and the fix.
type Problem struct {
	Why error
	Fix string
}

// RemoveAdvice is the advice for a server called knack that is not known to be knack.
const RemoveAdvice = "do not approve it; remove it there, or give it another name"

func problem(fix, format string, args ...any) *Problem {
	return &Problem{fmt.Errorf(format, args...), fix}
}

// Refusal returns the reason that nothing is written, or nil if writing is allowed. err is the
// error of [clientconfig.Client.Plan].
func (c Connection) Refusal(err error) *Problem {
	var missing *clientconfig.MissingError
	file := c.formatPath(c.File)
	switch {
	case c.Suspect != "":
		return problem(RemoveAdvice, "%s has a server called knack that %s: that is not known to be knack; it is unchanged", file, c.Target())
	case c.State == clientconfig.Foreign:
		return problem("rename that server there, or, if this program is your knack, name it with --command", "%s has a server called knack that %s; it is unchanged", file, c.Target())
	case c.State != Refused:
		return nil
	case errors.As(err, &missing) && file == "":
		return problem(missing.Fix, "%s: %w", c.Name, err)
	case errors.As(err, &missing):
		return problem(missing.Fix, "%s cannot be written: %w", file, err)
	}
	fix := "fix the file" + c.orByHand()
	if errors.Is(err, fs.ErrPermission) {
		fix = "make it readable" + c.orByHand()
	} else if errors.As(err, new(*edit.OutsideError)) {
		fix = "if you mean the file behind that link, name it with --file"
	}
	return problem(fix, "%s is unchanged: %s", file, c.Why)
}

func (c Connection) orByHand() string {
	return ", or add by hand the entry that knack connect " + c.Client + " prints"
}

// WriteFix returns the fix for a file that could not be written.
func (c Connection) WriteFix(err error) string {
	switch {
	case errors.Is(err, edit.ErrChanged), errors.Is(err, edit.ErrExists):
		return c.Name + " or another program wrote it meanwhile: run the command again"
	case errors.Is(err, edit.ErrReadOnly):
		return "make it writable" + c.orByHand()
	case errors.Is(err, fs.ErrPermission): // the new file and the backup are created beside it
		return "make its folder " + c.formatPath(filepath.Dir(c.File)) + " writable" + c.orByHand()
	}
	return ""
}

// Obstacle returns the reason that the client does not use the entry, even if it was written. It
// returns nil if the client uses the entry, or if the entry is for other projects. again returns
// the command that writes an entry of a scope.
func (c Connection) Obstacle(again func(clientconfig.Scope) string) *Problem {
	file, first, ch := c.formatPath(c.File), c.First, c.change
	switch {
	case first != nil && first.State == clientconfig.Foreign: // even if the user's entry was written
		return problem(RemoveAdvice, "%s %s, and its server called knack %s: that is not known to be knack", c.formatPath(first.File), c.precedes(), first.Target())
	case first != nil && first.Missing:
		return problem("install knack into a folder of PATH", "%s %s, and its entry %s: no folder of PATH has that program", c.formatPath(first.File), c.precedes(), first.Target())
	case ch.ListFile != "":
		says, fix := "has", "take "+strconv.Quote(ch.Name)+" out of it"
		if ch.ListOnly {
			says, fix = "lacks", "add "+strconv.Quote(ch.Name)+" to it"
		}
		return problem(fix, "%s: the list %s %s %q, so %s does not start it", c.formatPath(ch.ListFile), ch.ListKey, says, ch.Name, c.Name)
	case ch.Off != "": // even if another entry comes first, since some clients merge the two
		return c.turnedOff()
	case first == nil && ch.Shared && ch.State == clientconfig.Outdated:
		return problem("--scope user adds one for all your projects, --scope project brings this one up to date",
			"%s has an entry already, which %s; nothing is written", file, c.Target())
	case first == nil || c.Written:
		return nil
	case first.change.Off != "":
		return first.turnedOff()
	case first.State == clientconfig.Outdated:
		return problem(again(first.Scope)+" brings it up to date", "%s %s, and its entry is not up to date: it %s", c.formatPath(first.File), c.precedes(), first.Target())
	}
	return nil
}

func (c Connection) turnedOff() *Problem {
	value := "true"
	if c.change.Off == "disabled" {
		value = "false"
	}
	return problem(fmt.Sprintf("set %q to %s there", c.change.Off, value), "%s: the entry is turned off there, so %s does not start knack", c.formatPath(c.File), c.Name)
}
