package skill

import (
	"context"
	"sync/atomic"
)

type progressKey struct{}

// WithProgress makes scans in the context count finished folders and files in n. Counting
// is optional for a source, but without it a waiting caller cannot tell a scan from a disk
// that does not answer.
func WithProgress(ctx context.Context, n *atomic.Int64) context.Context {
	return context.WithValue(ctx, progressKey{}, n)
}

// Progress returns the counter for a scan in the context.
func Progress(ctx context.Context) *atomic.Int64 {
	if n, ok := ctx.Value(progressKey{}).(*atomic.Int64); ok {
		return n
	}
	return new(atomic.Int64)
}
