package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
)

// The pauses before an attempt to listen to a source, which are spread over 1.1 times as long: after the
// start, when a client waits for its first answers; after a stream has ended; and of a source that has
// none.
const (
	firstPause  = time.Second
	listenPause = time.Minute
	silentPause = time.Hour
)

// listener is an origin that tells of changes.
type listener interface {
	Listen(ctx context.Context, ref origin.Ref, changed func()) error
}

// listen calls changed each time a source says that it has changed, until the context ends. The
// polls find what it misses.
func listen(ctx context.Context, p *pull.Puller, ref origin.Ref, changed func()) {
	o, err := p.Origins(ref.Kind)
	if err != nil {
		return
	}
	l, ok := o.(listener)
	for pause := firstPause; ok; {
		select {
		case <-time.After(time.Duration(float64(pause) * (1 + 0.1*rand.Float64()))):
		case <-ctx.Done():
			return
		}
		pause = listenPause
		if err := l.Listen(ctx, ref, changed); errors.Is(err, errors.ErrUnsupported) {
			pause = silentPause
		}
	}
}
