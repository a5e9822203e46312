package web

import (
	"context"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/server/metrics"
	"github.com/knack-dev/knack/internal/web/internal/scans"
	"github.com/knack-dev/knack/internal/web/internal/sources"
)

func (s *Site) serveMetrics(r *request) error {
	x := &metrics.Text{}
	x.Family("knack_build_info", "gauge", "The version that runs; the value is 1.")
	x.Sample("knack_build_info", 1, "version", strings.ToValidUTF8(s.o.Version, "?"), "goversion", runtime.Version())
	x.Family("process_start_time_seconds", "gauge", "When the process began to serve, in seconds since 1970.")
	x.Sample("process_start_time_seconds", float64(s.begun.UnixMilli())/1000)
	x.Family("go_goroutines", "gauge", "Goroutines that exist.")
	x.Sample("go_goroutines", float64(runtime.NumGoroutine()))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	x.Family("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap in use.")
	x.Sample("go_memstats_heap_alloc_bytes", float64(m.HeapAlloc))
	v, err := s.view(r)
	x.Family("knack_complete", "gauge", "1 once every root has been read, 0 while skills may be missing.")
	x.Sample("knack_complete", map[bool]float64{true: 1}[err == nil && r.lacks == nil])
	if err == nil {
		s.skillMetrics(r.Context(), x, v)
	}
	if s.o.Measures != nil {
		x.Measures(s.o.Measures())
	}
	r.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	r.w.Header().Set("Cache-Control", "no-store")
	return answer(r, http.StatusOK, x.Bytes())
}

func (s *Site) skillMetrics(ctx context.Context, x *metrics.Text, v catalog.View) {
	totals, _ := s.checks.Soon(ctx, v)
	found := totals.Count.Statuses
	x.Family("knack_skills", "gauge", "Skills by status.")
	for _, count := range []struct {
		status catalog.Status
		n      int
	}{{catalog.Available, found.Available}, {catalog.Shadowed, found.Shadowed}, {catalog.Copy, found.Copies}, {catalog.Unlisted, found.Unlisted}, {catalog.Skipped, found.Skipped}} {
		x.Sample("knack_skills", float64(count.n), "status", string(count.status))
	}
	if s.o.Scans != nil || found.Held > 0 {
		x.Sample("knack_skills", float64(found.Held), "status", string(judgement.Held))
	}
	x.Measures(scans.Measures(totals.Scan))
	if n, compared := v.Drift(); compared {
		x.Family("knack_lock_drift_skills", "gauge", "Skills that were found changed since they were locked, when they were last compared.")
		x.Sample("knack_lock_drift_skills", float64(n))
	}
	x.Family("knack_root_skills", "gauge", "Skills found in each root, in any status.")
	for _, root := range v.Roots {
		if !root.Missing {
			x.Sample("knack_root_skills", float64(root.Count), "root", root.Label)
		}
	}
	x.Family("knack_root_up", "gauge", "1 if a root can be read, else 0.")
	for _, root := range v.Roots {
		if !root.Missing || root.Err != nil {
			x.Sample("knack_root_up", map[bool]float64{true: 1}[root.Err == nil], "root", root.Label)
		}
	}
	x.Measures(sources.Measures(s.sourcesIn(v), time.Now()))
	if at, took := s.o.Catalog.Refreshed(); !at.IsZero() {
		x.Family("knack_refresh_timestamp_seconds", "gauge", "When the last refresh ended, in seconds since 1970.")
		x.Sample("knack_refresh_timestamp_seconds", float64(at.UnixMilli())/1000)
		x.Family("knack_refresh_duration_seconds", "gauge", "How long the last refresh took.")
		x.Sample("knack_refresh_duration_seconds", took.Seconds())
	}
	byClient := s.o.Usage.Process(v)
	x.Family("knack_skill_uses_total", "counter", "Skills offered in lists, loaded, and read from, by client.")
	for _, name := range slices.Sorted(maps.Keys(byClient)) {
		c := byClient[name]
		x.Sample("knack_skill_uses_total", float64(c.Offered), "client", name, "use", "offered")
		x.Sample("knack_skill_uses_total", float64(c.Loaded), "client", name, "use", "loaded")
		x.Sample("knack_skill_uses_total", float64(c.Read), "client", name, "use", "read")
	}
}
