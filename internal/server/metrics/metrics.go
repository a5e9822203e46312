// Package metrics counts events, and writes metrics in the text format of Prometheus.
package metrics

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/knack-dev/knack/internal/server/event"
)

// Counts are the numbers and durations of calls and answers, and the numbers of refusals. They name
// no skills and no clients. The zero value is ready to use.
type Counts struct {
	calls, answers, refusals table[atomic.Uint64]
	callTimes, answerTimes   table[times] // the labels have only a route
}

// label contains the labels of a count.
type label struct {
	route string
	code  int    // status of HTTP
	word  string // the outcome or the reason
}

// Upper bounds of the buckets of the histograms.
var (
	callBounds = []time.Duration{
		500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 25 * time.Millisecond,
		100 * time.Millisecond, 500 * time.Millisecond, 2500 * time.Millisecond, 10 * time.Second,
	}
	answerBounds = []time.Duration{
		time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 500 * time.Millisecond, time.Second, 5 * time.Second,
	}
)

// statusOf maps each refusal to its HTTP status.
var statusOf = map[event.Refusal]int{
	event.NoToken: 401, event.UnknownToken: 401,
	event.OtherHost: 403, event.OtherOrigin: 403, event.Forbidden: 403,
	event.OverRate: 429, event.OverUnknown: 429, event.OverRefused: 429, event.TooBusy: 429,
}

// Record implements [event.Sink]. Concurrent requests do not wait for one another.
func (c *Counts) Record(e *event.Event) {
	if e.Refusal != "" {
		c.refusals.value(label{code: statusOf[e.Refusal], word: string(e.Refusal)}).Add(1)
	}
	switch {
	case e.Route == "":
	case e.Surface == event.MCP:
		outcome := "ok"
		if e.Result != event.OK {
			outcome = "error"
		}
		c.calls.value(label{route: e.Route, word: outcome}).Add(1)
		c.callTimes.value(label{route: e.Route}).add(e.Took, callBounds)
	case e.Status > 0: // otherwise the client left
		c.answers.value(label{route: e.Route, code: e.Status}).Add(1)
		c.answerTimes.value(label{route: e.Route}).add(e.Took, answerBounds)
	}
}

// Measures returns the counts so far.
func (c *Counts) Measures() []Measure {
	return []Measure{
		counter("knack_http_requests_total", "Answers of the pages and the API, by route and status.", &c.answers, func(l label) []string {
			return []string{"route", l.route, "code", strconv.Itoa(l.code)}
		}),
		histogram("knack_http_request_duration_seconds", "How long the answers of the pages and the API took, by route.", &c.answerTimes, answerBounds, "route"),
		counter("knack_mcp_calls_total", "Messages that came to a method of MCP, by method and outcome (ok, error).", &c.calls, func(l label) []string {
			return []string{"method", l.route, "outcome", l.word}
		}),
		histogram("knack_mcp_call_duration_seconds", "How long the answers to messages took until they were made, by method.", &c.callTimes, callBounds, "method"),
		counter("knack_http_refusals_total", "Answers 401, 403 and 429 at any address, by status and reason.", &c.refusals, func(l label) []string {
			return []string{"code", strconv.Itoa(l.code), "reason", l.word}
		}),
	}
}

func counter(name, help string, counts *table[atomic.Uint64], labels func(label) []string) Measure {
	m := Measure{Name: name, Kind: "counter", Help: help}
	for l, n := range counts.sorted() {
		m.Samples = append(m.Samples, Sample{Value: float64(n.Load()), Labels: labels(l)})
	}
	return m
}

func histogram(name, help string, measured *table[times], bounds []time.Duration, key string) Measure {
	m := Measure{Name: name, Kind: "histogram", Help: help}
	for l, t := range measured.sorted() {
		if l.route == "subscriptions/listen" { // this call lasts as long as its stream is open
			continue
		}
		all := 0.0
		for i := range t.buckets {
			le := "+Inf"
			if i < len(bounds) {
				le = strconv.FormatFloat(bounds[i].Seconds(), 'g', -1, 64)
			}
			all += float64(t.buckets[i].Load())
			m.Samples = append(m.Samples, Sample{Suffix: "_bucket", Value: all, Labels: []string{key, l.route, "le", le}})
		}
		m.Samples = append(m.Samples,
			Sample{Suffix: "_sum", Value: time.Duration(t.sum.Load()).Seconds(), Labels: []string{key, l.route}},
			Sample{Suffix: "_count", Value: all, Labels: []string{key, l.route}})
	}
	return m
}

// times is a histogram of the response times of one route.
type times struct {
	buckets [9]atomic.Uint64 // each answer is counted in one of them; the last has no upper bound
	sum     atomic.Int64
}

func (t *times) add(took time.Duration, bounds []time.Duration) {
	i, _ := slices.BinarySearch(bounds, took)
	t.buckets[i].Add(1)
	t.sum.Add(int64(took))
}

// table has a value for each of a few labels. Reading an existing value takes no lock and allocates
// nothing.
type table[V any] struct {
	now atomic.Pointer[map[label]*V]
	mu  sync.Mutex // for callers that add a label
}

// value returns the value of a label. It adds a zero value for a new label.
func (t *table[V]) value(l label) *V {
	if v := t.all()[l]; v != nil {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if v := t.all()[l]; v != nil {
		return v
	}
	next := maps.Clone(t.all())
	if next == nil {
		next = map[label]*V{}
	}
	next[l] = new(V)
	t.now.Store(&next)
	return next[l]
}

func (t *table[V]) all() map[label]*V {
	if m := t.now.Load(); m != nil {
		return *m
	}
	return nil
}

// sorted yields the values in the order of their labels.
func (t *table[V]) sorted() iter.Seq2[label, *V] {
	all := t.all()
	return func(yield func(label, *V) bool) {
		for _, l := range slices.SortedFunc(maps.Keys(all), func(a, b label) int {
			return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.code, b.code), cmp.Compare(a.word, b.word))
		}) {
			if !yield(l, all[l]) {
				return
			}
		}
	}
}
