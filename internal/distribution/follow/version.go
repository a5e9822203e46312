package follow

import (
	"hash/fnv"
	"math"
	"time"
)

// Bounds of the times of polls and swaps.
const (
	swapAfter  = 10 * time.Second // after a multiple of the interval: by then most replicas have fetched a release
	spreadMost = time.Second      // the time over which the requests of replicas are spread
	pauseMost  = 5 * time.Minute  // between two polls of a source that fails
	waitMost   = time.Hour        // the longest pause that a source may request
	newsEvery  = 10 * time.Second // the shortest time between polls of a source that reports changes
)

// multiple returns the first multiple of the interval after a time.
func multiple(after time.Time, every time.Duration) time.Time {
	n := after.UnixNano()
	return time.Unix(0, n-n%int64(every)+int64(every))
}

// moment returns the first moment after a time at which replicas swap.
func moment(from time.Time, every time.Duration) time.Time {
	offset := min(swapAfter, every/3)
	return multiple(from.Add(-offset-time.Nanosecond), every).Add(offset)
}

// next returns the time of the next request to the source.
func (f *Follower) next() time.Time {
	now, every := f.o.Now(), f.o.Every
	h := fnv.New32a()
	_, _ = h.Write([]byte(f.o.Host))
	spread := time.Duration(float64(min(spreadMost, every/10)) * float64(h.Sum32()) / math.MaxUint32)
	pause := f.wait
	if f.failures > 0 && f.served.Digest != "" {
		// If nothing is served yet, failures do not delay the next poll, since clients wait.
		longest := max(pauseMost, every)
		doubled := longest
		if f.failures < 16 {
			doubled = min(every<<f.failures, longest)
		}
		pause = max(pause, time.Duration(float64(doubled)*(0.9+0.2*f.o.Random())))
	}
	if pause > 0 {
		return now.Add(pause)
	}
	if f.o.Alone {
		return now.Add(time.Duration(float64(every) * (1 + 0.1*f.o.Random())))
	}
	return multiple(now, every).Add(spread)
}

// soon returns the time until the poll of a source that has reported a change. The time is spread
// over a second, since many replicas learn of the change at the same moment.
func (f *Follower) soon() time.Duration {
	rest := min(newsEvery-f.o.Now().Sub(f.hurried), newsEvery) // a clock may be set back
	return max(rest, f.wait, time.Duration(float64(spreadMost)*f.o.Random()))
}
