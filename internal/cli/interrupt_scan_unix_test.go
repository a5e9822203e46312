//go:build unix

package cli

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/skill"
)

// stuck is a source on a disk that does not answer, whatever its context says.
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
		_, _, err := scanned(cmd.Context(), env, []catalog.Source{source})
		return err
	}}
	cmd.SetArgs([]string{})
	endOnSignal(cmd)
	ended := make(chan error, 1)
	go func() { ended <- cmd.ExecuteContext(ctx) }()
	<-source.begun
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	err := <-ended
	if f := (*failure)(nil); !errors.As(err, &f) || f.code != 130 {
		t.Errorf("%v", err)
	}
}
