//go:build unix

package console

import (
	"os"
	"syscall"
	"testing"
)

// TestTakeSignals checks that a command can take the signals and release them again.
func TestTakeSignals(t *testing.T) {
	kill := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := UntilSignal()
	defer stop()
	signals, release := TakeSignals(ctx)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGINT} {
		kill(s)
		if got := <-signals; got != s || ctx.Err() != nil {
			t.Errorf("%v arrives as %v, %v", s, got, ctx.Err())
		}
	}
	release()
	kill(syscall.SIGTERM)
	<-ctx.Done()
	if by, ok := InterruptOf(ctx); !ok || by.Status() != 143 {
		t.Errorf("ended by %v", by)
	}
	if signals, release := TakeSignals(t.Context()); signals != nil {
		t.Error("signals without a handler")
	} else {
		release()
	}
}
