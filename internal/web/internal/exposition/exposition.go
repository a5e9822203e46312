// Package exposition counts the responses of a site, and writes metrics in the text format of
// Prometheus.
package exposition

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
)

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

// Text is metrics in the text format. The zero value has none.
type Text struct{ bytes.Buffer }

// Family begins a metric.
func (x *Text) Family(name, kind, help string) {
	fmt.Fprintf(x, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Sample writes one value. Labels are pairs of name and value.
func (x *Text) Sample(name string, value float64, labels ...string) {
	x.WriteString(name)
	for i := 0; i < len(labels); i += 2 {
		x.WriteString([...]string{"{", ","}[min(i, 1)] + labels[i] + `="` + labelEscaper.Replace(display.Visible(labels[i+1], display.CodePoint)) + `"`)
	}
	if len(labels) > 0 {
		x.WriteByte('}')
	}
	x.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// Measures writes metrics with their values.
func (x *Text) Measures(all []Measure) {
	for _, m := range all {
		x.Family(m.Name, m.Kind, m.Help)
		for _, sample := range m.Samples {
			x.Sample(m.Name+sample.Suffix, sample.Value, sample.Labels...)
		}
	}
}

var labelEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// buckets are the upper bounds of the histogram of response times, in seconds.
var buckets = []float64{0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5}

// Responses counts the responses of a site by route. The zero value is ready to use.
type Responses struct {
	mu     sync.Mutex
	routes map[string]*histogram
	codes  map[[2]string]uint64 // route, status
}

type histogram struct {
	counts []uint64
	sum    float64
	n      uint64
}

// Served counts a response.
func (m *Responses) Served(route string, code int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.routes == nil {
		m.routes, m.codes = map[string]*histogram{}, map[[2]string]uint64{}
	}
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

// Write writes the counts.
func (m *Responses) Write(x *Text) {
	m.mu.Lock()
	defer m.mu.Unlock()
	x.Family("knack_http_requests_total", "counter", "Answers of the pages and the API, by route and status.")
	keys := slices.Collect(maps.Keys(m.codes))
	slices.SortFunc(keys, func(a, b [2]string) int { return strings.Compare(a[0]+" "+a[1], b[0]+" "+b[1]) })
	for _, key := range keys {
		x.Sample("knack_http_requests_total", float64(m.codes[key]), "route", key[0], "code", key[1])
	}
	x.Family("knack_http_request_duration_seconds", "histogram", "How long the answers of the pages and the API took, by route.")
	const name = "knack_http_request_duration_seconds"
	for _, route := range slices.Sorted(maps.Keys(m.routes)) {
		h := m.routes[route]
		for i, b := range buckets {
			x.Sample(name+"_bucket", float64(h.counts[i]), "route", route, "le", strconv.FormatFloat(b, 'g', -1, 64))
		}
		x.Sample(name+"_bucket", float64(h.n), "route", route, "le", "+Inf")
		x.Sample(name+"_sum", h.sum, "route", route)
		x.Sample(name+"_count", float64(h.n), "route", route)
	}
}
