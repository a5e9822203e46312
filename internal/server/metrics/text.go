package metrics

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Measure is a metric family of Prometheus.
type Measure struct {
	Name, Kind, Help string // Kind is counter, gauge or histogram
	Samples          []Sample
}

// Sample is one value of a metric. Labels alternates names and values. In a histogram, Suffix is
// _bucket, _sum or _count.
type Sample struct {
	Suffix string
	Value  float64
	Labels []string
}

// Text is metrics in the text format of Prometheus. The zero value is empty.
type Text struct{ bytes.Buffer }

// Family writes the header of a metric.
func (x *Text) Family(name, kind, help string) {
	fmt.Fprintf(x, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

// Sample writes one value. labels alternates names and values.
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
