package distcmd

import (
	"context"
	"errors"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/distribution/install"
	"github.com/knack-dev/knack/internal/distribution/lockfile"
)

// untouched is the message of a command that was interrupted before it changed anything.
const untouched = "interrupted; nothing was changed"

// lateHint is the hint for a command that was interrupted before it could count its finished work.
const lateHint = "run the same command again: it does the rest, and records the finished skills in " + lockfile.Name

// interrupted returns the failure of a command that a signal has ended.
func interrupted(ctx context.Context, text string) error {
	status := command.Error
	if by, ok := console.InterruptOf(ctx); ok {
		status = by.Status()
	}
	return command.Fail(status, errors.New(text), "run the same command again")
}

// ends maps a command to the words for the skills that it has finished.
var ends = map[string]string{"add": "installed", "sync": "as locked", "update": "up to date", "remove": "removed"}

// interrupted returns the failure of a command that was interrupted before its end, or nil. It
// counts the finished skills.
func (r *report) interrupted(ctx context.Context) error {
	done, changed, all := 0, 0, 0
	stopped := false
	for _, s := range r.plan.Steps {
		switch s.Do {
		case install.Write, install.Replace, install.Record, install.Delete, install.Drop:
			changed++
			done++
		case install.Nothing:
			done++
		}
		if s.Key != "" { // without a key, the step is about a source or an unknown name
			all++
		}
		stopped = stopped || s.Interrupted()
	}
	switch {
	case !stopped:
		return nil
	case changed == 0 || r.dry || ends[r.command] == "":
		return interrupted(ctx, untouched)
	}
	verb := map[bool]string{true: " is ", false: " are "}[done == 1] + ends[r.command]
	if r.command != "sync" {
		verb += ", and " + lockfile.Name + " says so"
	}
	return interrupted(ctx, "interrupted: "+display.Thousands(done)+" of "+display.Count(all, "skill")+verb)
}
