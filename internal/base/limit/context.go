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

// Reserve takes room for bytes that a request is about to allocate. The error is
// [skill.ErrNoRoom], or the context's.
func Reserve(ctx context.Context, bytes int64) error {
	a, _ := ctx.Value(accountKey{}).(*Account)
	switch {
	case a == nil || bytes <= 0 || a.Wait(ctx, bytes):
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return skill.ErrNoRoom
}
