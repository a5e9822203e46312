// Package observe passes the events of a server to its metrics, its usage counts and its audit log.
package observe

import (
	"strconv"
	"time"

	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/internal/server/callstats"
	"github.com/knack-dev/knack/internal/server/usage"
	"github.com/knack-dev/knack/internal/web"
	"github.com/knack-dev/knack/mcpserver"
)

// Measures returns the server's metrics apart from the web pages' own; doc/running.md lists them.
// expiry is the end of the TLS certificate, or the zero time without one.
func Measures(h *mcpserver.HTTP, log *audit.Log, reloads *Reloads, expiry time.Time) (all []web.Measure) {
	if h == nil {
		return nil
	}
	n := h.Numbers()
	calls := web.Measure{Name: "knack_mcp_calls_total", Kind: "counter", Help: "Messages that came to a method of MCP, by method and outcome (ok, error)."}
	for _, c := range n.Calls {
		calls.Samples = append(calls.Samples, web.Sample{Value: float64(c.Count), Labels: []string{"method", c.Method, "outcome", c.Outcome}})
	}
	times := web.Measure{Name: "knack_mcp_call_duration_seconds", Kind: "histogram", Help: "How long the answers to messages took until they were made, by method."}
	for _, t := range n.Times {
		if t.Method != "subscriptions/listen" { // lasts as long as its stream is open
			times.Samples = append(times.Samples, histogram(t)...)
		}
	}
	refusals := web.Measure{Name: "knack_http_refusals_total", Kind: "counter", Help: "Answers 401, 403 and 429 at any address, by status and reason."}
	for _, c := range n.Refusals {
		refusals.Samples = append(refusals.Samples, web.Sample{Value: float64(c.Count), Labels: []string{"code", strconv.Itoa(c.Status), "reason", c.Reason}})
	}
	one := func(name, kind, help string, value float64) {
		all = append(all, web.Measure{Name: name, Kind: kind, Help: help, Samples: []web.Sample{{Value: value}}})
	}
	all = append(all, calls, times, refusals)
	one("knack_mcp_sessions", "gauge", "Sessions that are open, of protocol versions before 2026-07-28.", float64(n.Sessions))
	one("knack_mcp_streams", "gauge", "Streams that are open for notifications.", float64(n.Streams))
	if log != nil {
		written, lost := log.Totals()
		one("knack_audit_lines_total", "counter", "Events that were written to the audit log.", float64(written))
		one("knack_audit_lost_lines_total", "counter", "Events that could not be written to the audit log.", float64(lost))
	}
	all = append(all, reloads.measures()...)
	if !expiry.IsZero() {
		one("knack_tls_certificate_expiry_timestamp_seconds", "gauge", "When the TLS certificate that is served ends, in seconds since 1970.", seconds(expiry))
	}
	return all
}

// histogram returns the samples of a method's call times.
func histogram(t mcpserver.CallTime) (all []web.Sample) {
	for i, n := range t.Buckets {
		le := "+Inf"
		if i < len(callstats.Bounds) {
			le = strconv.FormatFloat(callstats.Bounds[i].Seconds(), 'g', -1, 64)
		}
		all = append(all, web.Sample{Suffix: "_bucket", Value: float64(n), Labels: []string{"method", t.Method, "le", le}})
	}
	return append(all,
		web.Sample{Suffix: "_sum", Value: t.Sum.Seconds(), Labels: []string{"method", t.Method}},
		web.Sample{Suffix: "_count", Value: float64(t.Buckets[len(t.Buckets)-1]), Labels: []string{"method", t.Method}})
}

// Uses returns a function that records each use in the usage counts and the audit log.
func Uses(tally *usage.Tally, log *audit.Log) func(mcpserver.Use) {
	if tally == nil && log == nil {
		return nil
	}
	return func(u mcpserver.Use) {
		log.Record(u.Event)
		switch {
		case tally == nil:
		case u.Answered():
			count(tally, u)
		case u.Failed:
			missed(tally, u)
		}
	}
}

func count(tally *usage.Tally, u mcpserver.Use) {
	v := u.View
	switch {
	case u.Method == "tools/list", u.Name == "list_skills":
		tally.Listed(v, u.Client)
	case u.Method == "tools/call":
		tally.Called(v, u.Client, u.Name, u.Arguments)
	case u.Method == "resources/read":
		tally.Resource(v, u.Client, u.URI)
	case u.Method == "prompts/get":
		tally.Invoked(v, u.Client, u.Name)
	}
}

func missed(tally *usage.Tally, u mcpserver.Use) {
	switch u.Method {
	case "tools/call":
		tally.Missed(u.View, "", u.Arguments)
	case "resources/read":
		tally.Missed(u.View, u.URI, nil)
	case "prompts/get":
		tally.Missed(u.View, u.Name, nil)
	}
}
