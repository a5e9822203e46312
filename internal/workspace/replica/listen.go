package replica

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
)

// The pauses before an attempt to listen to a source, each extended at random by up to 10 %.
// firstPause is the pause after the start, when a client waits for its first answers. listenPause
// is the pause after the end of a stream. silentPause applies to a source that does not report
// changes.
const (
	firstPause  = time.Second
	listenPause = time.Minute
	silentPause = time.Hour
)

// listener is an origin that reports changes.
type listener interface {
	Listen(ctx context.Context, ref origin.Ref, changed func()) error
}

// listen calls changed each time a source reports a change, until the context ends. Polling finds
// the changes that listen misses.
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
