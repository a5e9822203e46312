package observe

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/audit"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/internal/server/metrics"
)

// The reloadable parts of a server. The values are their names in metrics and the audit log.
const (
	Settings    = "settings" // with the tokens
	Certificate = "certificate"
	AuditLog    = "audit-log" // closed and opened again
)

// Reloads records the result of each reload of a server.
type Reloads struct {
	log *audit.Log

	mu     sync.Mutex
	recent []reload
}

// reload is the last result of reloading a part.
type reload struct {
	part string
	ok   bool
	at   time.Time // when the part in effect was read
}

// NewReloads returns the state after the start of a server, when each part has just been read. log
// may be nil.
func NewReloads(log *audit.Log, tls bool) *Reloads {
	r := &Reloads{log: log}
	for part, has := range map[string]bool{Settings: true, Certificate: tls, AuditLog: log != nil} {
		if has {
			r.recent = append(r.recent, reload{part, true, time.Now()})
		}
	}
	return r
}

// Done records that a part was reloaded, or the error that prevented it. If silent is set, a
// success is not logged, because nothing has changed. On a nil receiver, Done does nothing.
func (r *Reloads) Done(part string, err error, silent bool) {
	if r == nil {
		return
	}
	e := event.Event{Surface: event.Server, Method: "reload", Asked: part, Result: event.OK}
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.recent {
		if p := &r.recent[i]; p.part == part {
			if p.ok = err == nil; p.ok {
				p.at = time.Now()
			}
		}
	}
	if err != nil {
		// The message may quote a key, which may be a token in the wrong place.
		e.Result, e.Reason = event.Refused, strings.Join(display.RedactWords(strings.Fields(err.Error())), " ")
	} else if silent {
		return
	}
	r.log.Record(&e)
}

// measures returns the metrics of the reloads.
func (r *Reloads) measures() []metrics.Measure {
	ok := metrics.Measure{Name: "knack_reload_success", Kind: "gauge", Help: "1 if the last reload of a part succeeded, or there was none; 0 if the previous one stays in effect."}
	at := metrics.Measure{Name: "knack_reload_timestamp_seconds", Kind: "gauge", Help: "When the part in effect was read, in seconds since 1970."}
	r.mu.Lock()
	defer r.mu.Unlock()
	parts := slices.Clone(r.recent)
	slices.SortFunc(parts, func(a, b reload) int { return cmp.Compare(a.part, b.part) })
	for _, p := range parts {
		value := 0.0
		if p.ok {
			value = 1
		}
		ok.Samples = append(ok.Samples, metrics.Sample{Value: value, Labels: []string{"part", p.part}})
		at.Samples = append(at.Samples, metrics.Sample{Value: seconds(p.at), Labels: []string{"part", p.part}})
	}
	return []metrics.Measure{ok, at}
}

// seconds returns a time in the form of Prometheus: seconds since 1970.
func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
