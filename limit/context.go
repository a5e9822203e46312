package limit

import (
	"context"

	"github.com/knack-dev/knack/skill"
)

type accountKey struct{}

// WithAccount returns a context in which [Reserve] takes room from a.
func WithAccount(ctx context.Context, a *Account) context.Context {
	return context.WithValue(ctx, accountKey{}, a)
}

// AccountOf returns the account of the request that ctx belongs to, or nil if its memory is
// not limited.
func AccountOf(ctx context.Context) *Account {
	a, _ := ctx.Value(accountKey{}).(*Account)
	return a
}

// Reserve takes room for bytes that a request is about to hold. The error is
// [skill.ErrNoRoom], or the context's.
func Reserve(ctx context.Context, bytes int64) error {
	a := AccountOf(ctx)
	switch {
	case a == nil || bytes <= 0 || a.Wait(ctx, bytes):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return skill.ErrNoRoom
}
