package cli

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

// endingTime is how long an interrupted command may take to end by itself. A command that waits for
// a disk, its input or a reader of its output may never end.
const endingTime = time.Second

// endOnSignal makes a command and its subcommands end when a signal arrives, even if they are
// blocked. Before it abandons a command it calls settle ([edit.Settle]), so that no file is left
// half written. It skips serve, which first answers pending requests and ends by itself.
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

// inTime calls say, which prints the final message of an interrupted command. It returns after
// endingTime at the latest, since no program may be reading stderr.
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
