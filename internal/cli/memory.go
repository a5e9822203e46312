package cli

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// fitEvery is within the time that a flood of connections takes to come.
const fitEvery = 500 * time.Millisecond

// fitLimit lets the collector's limit grow with what no collection frees. Thousands
// of connections hold as much as [softLimit], in stacks above all; then the collector
// would run without a pause, look through all of them each time, and leave the calls
// of others half of the processors.
func fitLimit(ctx context.Context) {
	if debug.SetMemoryLimit(-1) != softLimit {
		return // the operator has chosen
	}
	tick := time.NewTicker(fitEvery)
	defer tick.Stop()
	held := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/stacks:bytes"}}
	for limit := int64(softLimit); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		metrics.Read(held)
		if now := limitFor(limit, held[0].Value.Uint64(), held[1].Value.Uint64()); now != limit {
			debug.SetMemoryLimit(now) // stops everybody for a moment: seldom
			limit = now
		}
	}
}

// limitFor is the limit to have after limit: half as much again as what stays, and
// some room so that not every connection moves it.
func limitFor(limit int64, live, stacks uint64) int64 {
	switch want := int64(live+stacks) * 3 / 2; {
	case want <= softLimit && limit <= softLimit, want <= limit && want >= limit/2:
		return limit
	default:
		return max(softLimit, want*5/4)
	}
}
