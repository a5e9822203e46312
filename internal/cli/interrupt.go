package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

// endingTime is how long an interrupted command may take to end by itself. One that waits for a
// disk, for its input or for a reader of its output may take forever.
const endingTime = time.Second

// endOnSignal makes a command and those below it end when a signal arrives, whatever they wait
// for. It calls settle, which is [edit.Settle], before it leaves one that works on, so that no file
// is left half written. serve answers the requests before the signal, and decides by itself when
// that is done.
func endOnSignal(c *cobra.Command, settle func()) {
	for _, sub := range c.Commands() {
		if sub.Name() != "serve" {
			endOnSignal(sub, settle)
		}
	}
	run := c.RunE
	if run == nil {
		return
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		done := make(chan error, 1)
		go func() { done <- run(cmd, args) }()
		ctx := cmd.Context()
		select {
		case err := <-done:
			return command.Interrupted(ctx, err)
		case <-ctx.Done():
		}
		late := time.NewTimer(endingTime)
		defer late.Stop()
		select {
		case err := <-done:
			return command.Interrupted(ctx, err)
		case <-late.C:
			settle()
		}
		by, _ := console.InterruptOf(ctx)
		return command.Fail(by.Status(), command.ErrInterrupted, cmd.Annotations[command.Late])
	}
}

// inTime runs the last words of an interrupted command, and ends without them if no program
// reads its stderr.
func inTime(say func()) {
	said := make(chan struct{})
	go func() {
		say()
		close(said)
	}()
	late := time.NewTimer(endingTime)
	defer late.Stop()
	select {
	case <-said:
	case <-late.C:
	}
}
