package console

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// Interrupt is the cause of a context that a signal has ended.
type Interrupt struct{ Signal os.Signal }

// Error names the signal.
func (i Interrupt) Error() string { return "interrupted by a signal: " + i.Signal.String() }

// Is reports that an interrupt is a cancellation.
func (i Interrupt) Is(target error) bool { return target == context.Canceled }

// Status returns the exit status by which shells know a program that this signal ended: 130 for
// SIGINT, which is Ctrl-C, and 143 for SIGTERM.
func (i Interrupt) Status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 128 + int(syscall.SIGINT)
}

// UntilSignal returns a context that SIGINT or SIGTERM ends. A second signal then ends the
// process at once.
func UntilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(Interrupt{s})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// InterruptOf returns the interrupt that has ended a context.
func InterruptOf(ctx context.Context) (i Interrupt, ok bool) {
	ok = errors.As(context.Cause(ctx), &i)
	return i, ok
}
