package web

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
)

// buckets are the upper bounds of the histogram of response times, in seconds.
var buckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5}

// metrics counts the responses of the site.
type metrics struct {
	begun  time.Time
	mu     sync.Mutex
	routes map[string]*histogram
	codes  map[[2]string]uint64 // route, status
}

type histogram struct {
	counts []uint64
	sum    float64
	n      uint64
}

func newMetrics() *metrics {
	return &metrics{begun: time.Now(), routes: map[string]*histogram{}, codes: map[[2]string]uint64{}}
}

func (m *metrics) served(route string, code int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.routes[route]
	if h == nil {
		h = &histogram{counts: make([]uint64, len(buckets))}
		m.routes[route] = h
	}
	h.n++
	h.sum += took.Seconds()
	for i, b := range buckets {
		if took.Seconds() <= b {
			h.counts[i]++
		}
	}
	m.codes[[2]string{route, strconv.Itoa(code)}]++
}

// Measure is one metric in the sense of Prometheus.
type Measure struct {
	Name, Kind, Help string // Kind is counter, gauge or histogram
	Samples          []Sample
}

// Sample is one value of a metric. Labels are pairs of name and value. Suffix is _bucket, _sum or
// _count in a histogram.
type Sample struct {
	Suffix string
	Value  float64
	Labels []string
}

// exposition writes metrics in the text format of Prometheus.
type exposition struct{ bytes.Buffer }

func (x *exposition) family(name, kind, help string) {
	fmt.Fprintf(x, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// sample writes one value. Labels are pairs of name and value.
func (x *exposition) sample(name string, value float64, labels ...string) {
	x.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		x.WriteString([...]string{"{", ","}[min(i, 1)] + labels[i] + `="` + labelEscaper.Replace(display.Visible(labels[i+1], display.CodePoint)) + `"`)
	}
	if len(labels) > 0 {
		x.WriteByte('}')
	}
	x.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func (s *Site) serveMetrics(r *request) error {
	x := &exposition{}
	x.family("knack_build_info", "gauge", "The version that runs; the value is 1.")
	x.sample("knack_build_info", 1, "version", strings.ToValidUTF8(s.o.Version, "?"), "goversion", runtime.Version())
	x.family("process_start_time_seconds", "gauge", "When the process began to serve, in seconds since 1970.")
	x.sample("process_start_time_seconds", float64(s.metrics.begun.UnixMilli())/1000)
	x.family("go_goroutines", "gauge", "Goroutines that exist.")
	x.sample("go_goroutines", float64(runtime.NumGoroutine()))
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	x.family("go_memstats_heap_alloc_bytes", "gauge", "Bytes of the heap in use.")
	x.sample("go_memstats_heap_alloc_bytes", float64(m.HeapAlloc))
	v, err := s.view(r)
	x.family("knack_complete", "gauge", "1 once every root has been read, 0 while skills may be missing.")
	x.sample("knack_complete", map[bool]float64{true: 1}[err == nil && r.lacks == nil])
	if err == nil {
		s.skillMetrics(x, v)
	}
	s.metrics.write(x)
	if s.o.Measures != nil {
		for _, m := range s.o.Measures() {
			x.family(m.Name, m.Kind, m.Help)
			for _, sample := range m.Samples {
				x.sample(m.Name+sample.Suffix, sample.Value, sample.Labels...)
			}
		}
	}
	r.w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	r.w.Header().Set("Cache-Control", "no-store")
	return answer(r, http.StatusOK, x.Bytes())
}

func (s *Site) skillMetrics(x *exposition, v catalog.View) {
	byStatus := map[catalog.Status]int{}
	for _, e := range v.Entries {
		byStatus[e.Status]++
	}
	x.family("knack_skills", "gauge", "Skills by what became of them.")
	for _, status := range []catalog.Status{catalog.Available, catalog.Shadowed, catalog.Copy, catalog.Unlisted, catalog.Skipped} {
		x.sample("knack_skills", float64(byStatus[status]), "status", string(status))
	}
	if n, compared := v.Drift(); compared {
		x.family("knack_lock_drift_skills", "gauge", "Skills that were found changed since they were locked, when they were last compared.")
		x.sample("knack_lock_drift_skills", float64(n))
	}
	x.family("knack_root_skills", "gauge", "Skills found in each root, in any status.")
	for _, root := range v.Roots {
		if !root.Missing {
			x.sample("knack_root_skills", float64(root.Count), "root", root.Label)
		}
	}
	x.family("knack_root_up", "gauge", "1 if a root can be read, else 0.")
	for _, root := range v.Roots {
		if !root.Missing || root.Err != nil {
			x.sample("knack_root_up", map[bool]float64{true: 1}[root.Err == nil], "root", root.Label)
		}
	}
	if at, took := s.o.Catalog.Refreshed(); !at.IsZero() {
		x.family("knack_refresh_timestamp_seconds", "gauge", "When the last refresh ended, in seconds since 1970.")
		x.sample("knack_refresh_timestamp_seconds", float64(at.UnixMilli())/1000)
		x.family("knack_refresh_duration_seconds", "gauge", "How long the last refresh took.")
		x.sample("knack_refresh_duration_seconds", took.Seconds())
	}
	byClient := s.o.Usage.Process(v)
	x.family("knack_skill_uses_total", "counter", "Skills offered in lists, loaded, and read from, by client.")
	for _, name := range slices.Sorted(maps.Keys(byClient)) {
		c := byClient[name]
		x.sample("knack_skill_uses_total", float64(c.Offered), "client", name, "use", "offered")
		x.sample("knack_skill_uses_total", float64(c.Loaded), "client", name, "use", "loaded")
		x.sample("knack_skill_uses_total", float64(c.Read), "client", name, "use", "read")
	}
}

func (m *metrics) write(x *exposition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x.family("knack_http_requests_total", "counter", "Answers of the pages and the API, by route and status.")
	keys := slices.SortedFunc(maps.Keys(m.codes), func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) })
	for _, key := range keys {
		x.sample("knack_http_requests_total", float64(m.codes[key]), "route", key[0], "code", key[1])
	}
	x.family("knack_http_request_duration_seconds", "histogram", "How long the answers of the pages and the API took, by route.")
	const name = "knack_http_request_duration_seconds"
	for _, route := range slices.Sorted(maps.Keys(m.routes)) {
		h := m.routes[route]
		for i, b := range buckets {
			x.sample(name+"_bucket", float64(h.counts[i]), "route", route, "le", strconv.FormatFloat(b, 'g', -1, 64))
		}
		x.sample(name+"_bucket", float64(h.n), "route", route, "le", "+Inf")
		x.sample(name+"_sum", h.sum, "route", route)
		x.sample(name+"_count", float64(h.n), "route", route)
	}
}
