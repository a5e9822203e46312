package metrics

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/knack-dev/knack/internal/server/event"
)

// done returns the event of an answered MCP call.
func done(method string, result event.Result, took time.Duration) *event.Event {
	return &event.Event{Surface: event.MCP, Method: method, Route: method, Result: result, Took: took}
}

// TestCounts checks that concurrent requests are all counted, each in the buckets of its duration
// and above. It also checks that counting with known labels allocates no memory.
func TestCounts(t *testing.T) {
	var c Counts
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			c.Record(done("b", event.OK, 0))
			c.Record(done("b", event.NotFound, time.Millisecond))
			c.Record(done("a", event.Failed, time.Millisecond+1))
			c.Record(done("b", event.OK, time.Minute))
			c.Record(&event.Event{Surface: event.Web, Method: "GET", Route: "/", Result: event.OK, Status: 304, Took: time.Second})
			c.Record(&event.Event{Surface: event.Web, Method: "GET", Route: "/", Result: event.Failed}) // its client left
			c.Record(&event.Event{Surface: event.MCP, Method: "made-up", Result: event.Limited, Status: 429, Refusal: event.TooBusy})
		})
	}
	all.Wait()
	var got Text
	got.Measures(c.Measures())
	lines := map[string]bool{}
	for line := range strings.Lines(got.String()) {
		if !strings.HasPrefix(line, "#") {
			lines[strings.TrimSpace(line)] = true
		}
	}
	for _, want := range []string{
		`knack_mcp_calls_total{method="a",outcome="error"} 100`,
		`knack_mcp_calls_total{method="b",outcome="error"} 100`,
		`knack_mcp_calls_total{method="b",outcome="ok"} 200`,
		`knack_mcp_call_duration_seconds_bucket{method="a",le="0.001"} 0`,
		`knack_mcp_call_duration_seconds_bucket{method="a",le="0.005"} 100`,
		`knack_mcp_call_duration_seconds_bucket{method="b",le="0.0005"} 100`,
		`knack_mcp_call_duration_seconds_bucket{method="b",le="0.001"} 200`,
		`knack_mcp_call_duration_seconds_bucket{method="b",le="10"} 200`,
		`knack_mcp_call_duration_seconds_bucket{method="b",le="+Inf"} 300`,
		`knack_mcp_call_duration_seconds_sum{method="b"} 6000.1`,
		`knack_mcp_call_duration_seconds_count{method="b"} 300`,
		`knack_http_requests_total{route="/",code="304"} 100`,
		`knack_http_request_duration_seconds_bucket{route="/",le="0.5"} 0`,
		`knack_http_request_duration_seconds_bucket{route="/",le="1"} 100`,
		`knack_http_refusals_total{code="429",reason="busy"} 100`,
	} {
		if !lines[want] {
			t.Errorf("no %s in\n%s", want, got.String())
		}
	}
	if n := strings.Count(got.String(), "_total{"); n != 5 {
		t.Errorf("%d counters in\n%s", n, got.String())
	}
	e := done("a", event.OK, time.Second)
	e.Refusal = event.TooBusy
	c.Record(e)
	if n := testing.AllocsPerRun(100, func() { c.Record(e) }); n > 0 {
		t.Errorf("a call of a known method makes %v allocations", n)
	}
}

// TestStatuses checks that each reason for a refusal has its status.
func TestStatuses(t *testing.T) {
	want := map[event.Refusal]int{"no-token": 401, "token": 401, "host": 403, "origin": 403, "other": 403, "rate": 429, "unknown": 429, "refused": 429, "busy": 429}
	if diff := cmp.Diff(want, statusOf); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

func BenchmarkRecord(b *testing.B) {
	var c Counts
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		e := done("tools/call", event.OK, time.Millisecond)
		for pb.Next() {
			c.Record(e)
		}
	})
}
