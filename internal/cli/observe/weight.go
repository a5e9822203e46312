package observe

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/web"
)

// weighEvery is how old the size of a store may be. To look at 500,000 files takes a second.
const weighEvery = 5 * time.Minute

// Weight is the size of a store, as the metrics show it. It is computed beside the requests that
// ask for it.
type Weight struct {
	ctx context.Context
	of  func(context.Context) (int64, error)

	mu    sync.Mutex
	bytes int64     // 0 until something is known to be there
	looks bool      // now
	begun time.Time // the last look
}

// NewWeight returns the weight of a store whose size a function computes, until ctx ends. Without a
// store, the function is nil, and so is the result.
func NewWeight(ctx context.Context, of func(context.Context) (int64, error)) *Weight {
	if of == nil {
		return nil
	}
	return &Weight{ctx: ctx, of: of}
}

// Measures returns the metric, of the last look. Until something was found in the store there is
// none. Nil is a server without a store.
func (w *Weight) Measures() []web.Measure {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); !w.looks && (w.bytes == 0 || now.Sub(w.begun) >= weighEvery) {
		w.looks, w.begun = true, now
		go w.weigh()
	}
	if w.bytes == 0 {
		return nil
	}
	return []web.Measure{{Name: "knack_store_bytes", Kind: "gauge", Help: "Bytes of the files of the store, as they were in the last five minutes.", Samples: []web.Sample{{Value: float64(w.bytes)}}}}
}

func (w *Weight) weigh() {
	bytes, err := w.of(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks = false; err == nil {
		w.bytes = bytes
	}
}
