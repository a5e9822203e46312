package limit

import (
	"context"
	"errors"
)

// Reasons why work is refused for now.
var (
	// ErrBusy is returned if too many reads from one disk are still waiting.
	ErrBusy = errors.New("the disk does not answer, and too many reads are waiting for it")
	// ErrNoRoom is returned if the answers in progress use all memory.
	ErrNoRoom = errors.New("the server is busy; try again")
)

type accountKey struct{}

// WithAccount returns a context in which [Reserve] takes room from a's budget.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// Reserve takes room for bytes that a request is about to allocate. The error is [ErrNoRoom] or the
// context's error.
func Reserve(ctx context.Context, bytes int64) error {
	a, _ := ctx.Value(accountKey{}).(*Account)
	switch {
	case a == nil || bytes <= 0 || a.Wait(ctx, bytes):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return ErrNoRoom
}
