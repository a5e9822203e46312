package console

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Interrupt is the cause of a context that ended because of a signal.
type Interrupt struct{ Signal os.Signal }

// Error names the signal.
func (i Interrupt) Error() string { return "interrupted by a signal: " + i.Signal.String() }

// Is makes an interrupt match [context.Canceled].
func (i Interrupt) Is(target error) bool { return target == context.Canceled }

// Status returns the exit status that shells use for this signal: 130 for SIGINT (Ctrl-C) and 143
// for SIGTERM.
func (i Interrupt) Status() int {
	if s, ok := i.Signal.(syscall.Signal); ok {
		return 128 + int(s)
	}
	return 128 + int(syscall.SIGINT)
}

// UntilSignal returns a context that SIGINT or SIGTERM ends. A second signal ends the process
// immediately.
func UntilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	taken := &taker{}
	ctx = context.WithValue(ctx, takerKey{}, taken)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		for {
			select {
			case s := <-signals:
				if taken.take(s) {
					continue
				}
				signal.Stop(signals)
				cancel(Interrupt{s})
			case <-ctx.Done():
			}
			return
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}

// taker passes signals to a command that handles them itself.
type taker struct {
	mu sync.Mutex
	to chan os.Signal // nil if signals end the context
}

type takerKey struct{}

func (t *taker) take(s os.Signal) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.to == nil {
		return false
	}
	select {
	case t.to <- s:
	default: // the command has not read the last signals yet
	}
	return true
}

// TakeSignals passes the signals of [UntilSignal] to the caller. Until release is called, they do
// not end the context. If ctx does not come from UntilSignal, the caller gets no signals.
func TakeSignals(ctx context.Context) (signals <-chan os.Signal, release func()) {
	t, ok := ctx.Value(takerKey{}).(*taker)
	if !ok {
		return nil, func() {}
	}
	to := make(chan os.Signal, 4)
	set := func(to chan os.Signal) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.to = to
	}
	set(to)
	return to, func() { set(nil) }
}

// InterruptOf returns the interrupt that ended a context. ok is false if none did.
func InterruptOf(ctx context.Context) (i Interrupt, ok bool) {
	ok = errors.As(context.Cause(ctx), &i)
	return i, ok
}
