//go:build unix

package cli

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
	"github.com/knack-dev/knack/internal/workspace"
	"github.com/knack-dev/knack/skill"
)

// stuck is a source on a disk that does not answer. It ignores its context.
type stuck struct {
	slow
	begun, goOn chan struct{}
}

func (s stuck) Scan(context.Context) (skill.Scan, error) {
	close(s.begun)
	<-s.goOn
	return skill.Scan{}, nil
}

// TestInterruptedScan checks that a signal ends a command whose disk does not answer.
func TestInterruptedScan(t *testing.T) {
	ctx, stop := console.UntilSignal()
	defer stop()
	source := stuck{begun: make(chan struct{}), goOn: make(chan struct{})}
	defer close(source.goOn)
	env := &console.Env{}
	cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(cmd *cobra.Command, _ []string) error {
		_, err := workspace.Read(cmd.Context(), env, catalog.New([]catalog.Source{source}, catalog.Options{}))
		return err
	}}
	cmd.SetArgs([]string{})
	endOnSignal(cmd, func() { t.Error("the command went on") })
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	<-source.begun
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if f := (*command.Failure)(nil); !errors.As(err, &f) || f.Code != 130 {
		t.Errorf("%v", err)
	}
}

// TestInterruptedWrite checks that the process of a command that ignores a signal does not end
// while a file is half written.
func TestInterruptedWrite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		begun, goOn := make(chan struct{}), make(chan struct{})
		defer close(goOn)
		cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
			close(begun)
			<-goOn
			return nil
		}}
		cmd.SetArgs([]string{})
		settled := 0
		endOnSignal(cmd, func() { settled++ })
		go func() {
			<-begun
			cancel(console.Interrupt{Signal: syscall.SIGTERM})
		}()
		err := cmd.ExecuteContext(ctx)
		if f := (*command.Failure)(nil); !errors.As(err, &f) || f.Code != 143 {
			t.Errorf("%v", err)
		}
		if settled != 1 {
			t.Errorf("it waited %d times for the files that are being written", settled)
		}
	})
}
