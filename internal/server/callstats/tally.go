// Package callstats counts the calls of methods by outcome and duration. Concurrent calls do not
// wait for one another.
package callstats

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds are the upper bounds of the buckets of [Time].
var Bounds = [...]time.Duration{
	500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond,
	100 * time.Millisecond, 500 * time.Millisecond, 2500 * time.Millisecond, 10 * time.Second,
}

// Count is the number of a method's calls with one outcome: "ok", or "error" for a protocol error
// and for a result that reports one.
type Count struct {
	Method, Outcome string
	Count           uint64
}

// Time has the durations of a method's calls, with any outcome.
type Time struct {
	Method string
	// Buckets[i] is the number of calls that took at most Bounds[i]; the last one counts all
	// calls.
	Buckets [len(Bounds) + 1]uint64
	Sum     time.Duration
}

// Calls has the counts so far. The zero value has none.
type Calls struct{ of sync.Map } // of *method, by its name

// method has the counts of one method.
type method struct {
	ok, failed atomic.Uint64
	buckets    [len(Bounds) + 1]atomic.Uint64 // each call is in one of them
	sum        atomic.Int64
}

// Done counts a call. The caller passes only known methods, so that clients cannot create
// counters.
func (c *Calls) Done(name string, failed bool, took time.Duration) {
	of, known := c.of.Load(name)
	if !known {
		of, _ = c.of.LoadOrStore(name, new(method))
	}
	m := of.(*method)
	if failed {
		m.failed.Add(1)
	} else {
		m.ok.Add(1)
	}
	i := 0
	for i < len(Bounds) && took > Bounds[i] {
		i++
	}
	m.buckets[i].Add(1)
	m.sum.Add(int64(took))
}

// Now returns the counts so far, sorted by method and outcome.
func (c *Calls) Now() (counts []Count, times []Time) {
	for key, value := range c.of.Range {
		name, m := key.(string), value.(*method)
		for outcome, n := range map[string]uint64{"ok": m.ok.Load(), "error": m.failed.Load()} {
			if n > 0 {
				counts = append(counts, Count{name, outcome, n})
			}
		}
		t := Time{Method: name, Sum: time.Duration(m.sum.Load())}
		all := uint64(0)
		for i := range m.buckets {
			all += m.buckets[i].Load()
			t.Buckets[i] = all
		}
		times = append(times, t)
	}
	slices.SortFunc(counts, func(a, b Count) int {
		return cmp.Or(cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome))
	})
	slices.SortFunc(times, func(a, b Time) int { return cmp.Compare(a.Method, b.Method) })
	return counts, times
}
