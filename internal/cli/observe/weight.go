package observe

import (
	"context"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/server/metrics"
)

// weighEvery is the maximum age of a measured size. Measuring a store of 500,000 files takes a
// second.
const weighEvery = 5 * time.Minute

// Weight measures the size of a store for the metrics. It measures in the background, so that a
// request for the metrics never waits.
type Weight struct {
	ctx     context.Context
	measure func(context.Context) (int64, error)

	mu    sync.Mutex
	bytes int64     // 0 until a measurement finds files
	looks bool      // a measurement is running
	begun time.Time // when the last measurement began
}

// NewWeight returns the weight of a store. measure returns its size, and ctx bounds the
// measurements. Without a store, measure is nil, and so is the result.
func NewWeight(ctx context.Context, measure func(context.Context) (int64, error)) *Weight {
	if measure == nil {
		return nil
	}
	return &Weight{ctx: ctx, measure: measure}
}

// Measures returns the size at the last measurement. It returns no metric while the size is 0. On a
// nil receiver, which stands for a server without a store, it returns nil.
func (w *Weight) Measures() []metrics.Measure {
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
	return []metrics.Measure{{Name: "knack_store_bytes", Kind: "gauge", Help: "Bytes of the files of the store, as they were in the last five minutes.", Samples: []metrics.Sample{{Value: float64(w.bytes)}}}}
}

func (w *Weight) weigh() {
	bytes, err := w.measure(w.ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.looks = false; err == nil {
		w.bytes = bytes
	}
}
