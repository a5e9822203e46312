package skill

import (
	"context"
	"sync/atomic"
)

type progressKey struct{}

// WithProgress has the scans in the context count in n what they have got done: each
// folder, each file. A scan that does not count goes on as well, but a caller that
// waits cannot tell it from a disk that does not answer.
func WithProgress(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, progressKey{}, n)
}

// Progress is the counter for a scan in the context.
func Progress(ctx context.Context) *atomic.Int64 {
	if n, ok := ctx.Value(progressKey{}).(*atomic.Int64); ok {
		return n
	}
	return new(atomic.Int64)
}
