// Package observe adds facts about a server that belong to no request to the metrics and the audit
// log.
package observe

import (
	"time"

	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/internal/server/metrics"
	"github.com/knack-dev/knack/mcpserver"
)

// Measures returns the metrics of the server that doc/operating.md lists. The web pages add their
// metrics separately. expiry is the end of the TLS certificate, or the zero time if there is no
// certificate.
func Measures(h *mcpserver.HTTP, counts *metrics.Counts, log *audit.Log, reloads *Reloads, expiry time.Time) (all []metrics.Measure) {
	if h == nil {
		return nil
	}
	one := func(name, kind, help string, value float64) {
		all = append(all, metrics.Measure{Name: name, Kind: kind, Help: help, Samples: []metrics.Sample{{Value: value}}})
	}
	all = counts.Measures()
	sessions, streams := h.Open()
	one("knack_mcp_sessions", "gauge", "Sessions that are open, of protocol versions before 2026-07-28.", float64(sessions))
	one("knack_mcp_streams", "gauge", "Streams that are open for notifications.", float64(streams))
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
