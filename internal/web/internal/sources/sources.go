// Package sources shows the sources that a server follows: as rows of a page, as parts of the API
// and as metrics.
package sources

import (
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/server/metrics"
)

// State is the state of a source in one word, for a page.
type State string

// The states, the gravest first.
const (
	Waiting State = "waiting"        // nothing is served yet
	Silent  State = "not answering"  // the source does not answer, and its last release is served
	Refused State = "refused"        // its new release is refused, and the previous is served
	Coming  State = "release coming" // another release was fetched, and is served in a moment
	Current State = "current"        // the source's release is served
)

// Row is a source for people.
type Row struct {
	follow.Status
	State State
	Says  string // the reason and the fix; may be empty
	Trust string // the state of the signature in words
	Age   string // how long ago the source last answered
}

// Grave reports whether an operator must do something about the source.
func (r Row) Grave() bool { return r.State == Waiting || r.Status.Refused != "" }

// Short returns the beginning of the release's digest.
func (r Row) Short() string { return Short(r.Release) }

// RowOf returns the row of a source. If frank is set, the row has the reasons, which may name files
// of the server. If the source does not answer, the row says so first. A release that was refused
// earlier follows.
func RowOf(s follow.Status, frank bool) Row {
	r := Row{Status: s, State: Current, Trust: Trust(s)}
	r.From = publicName(s.From)
	switch {
	case s.Failure != "":
		r.State, r.Says = Silent, silence(s, frank)
	case s.Refused != "":
		r.State, r.Says = Refused, reason(s.RefusedReason, frank)
	case s.Pending != "":
		r.State, r.Says = Coming, Short(s.Pending)+" is served from "+s.At.UTC().Format("15:04:05 UTC")+" on"
	}
	if s.Release == "" {
		r.State = Waiting
		switch {
		case s.Failure != "":
			r.Says = string(Silent) + " " + r.Says
		case s.Refused == "":
			r.Says = "The first release is being fetched."
		}
	}
	return r
}

// silence returns since when and why a source does not answer. It also mentions a release that was
// refused before.
func silence(s follow.Status, frank bool) string {
	says := "since " + s.FailingSince.UTC().Format("2006-01-02 15:04:05 UTC") + ": " + reason(s.Failure, frank)
	if s.Refused == "" {
		return says
	}
	says += " | refused before"
	if frank {
		says += ": " + s.RefusedReason
	}
	return says
}

// reason returns the text if frank is set. Otherwise it returns a hint where to find the text.
func reason(text string, frank bool) string {
	if !frank {
		return "The log of the server says why."
	}
	return text
}

// Trust describes the signature of the served release; it is "" without a release.
func Trust(s follow.Status) string {
	switch {
	case s.Release == "":
		return ""
	case s.Signature == "signed":
		kind, key, _ := strings.Cut(s.Signer, ":")
		return "signed by " + kind + ":" + key[:min(len(key), 12)]
	case s.Signature == "" || s.Signature == "unsigned":
		return "not signed"
	}
	return s.Signature
}

// lastAnswer returns the time of the source's last answer. If it has not answered since the start of
// the server, that is the time of the first failed request, or zero before any request.
func lastAnswer(s follow.Status) time.Time {
	if s.Answered.IsZero() {
		return s.FailingSince
	}
	return s.Answered
}

// publicName returns the name of a source for clients. It replaces a path of the server, since
// pages and the API reveal none.
func publicName(from string) string {
	if strings.HasPrefix(from, "/") || strings.Contains(from, "file:") || len(from) > 1 && from[1] == ':' {
		return "a place on the server"
	}
	return from
}

// Short returns the beginning of a digest, as people compare it.
func Short(digest string) string {
	_, hex, _ := strings.Cut(digest, ":")
	return hex[:min(len(hex), 12)]
}

// Item is the source of a skill, in the API.
type Item struct {
	From      string    `json:"from"`
	Release   string    `json:"release"`
	Version   string    `json:"version,omitempty"`
	Signature string    `json:"signature,omitempty"`
	Signer    string    `json:"signer,omitempty"`
	Since     time.Time `json:"since"`
}

// ItemOf returns the source with the name of a root, or nil.
func ItemOf(all []follow.Status, root string) *Item {
	for _, s := range all {
		if s.Name == root && s.Release != "" {
			return &Item{display.OneLine(publicName(s.From)), s.Release, s.Version, s.Signature, s.Signer, s.Since.UTC().Truncate(time.Second)}
		}
	}
	return nil
}

// Measures returns the metrics of the sources, or nothing without a source.
func Measures(all []follow.Status, now time.Time) []metrics.Measure {
	if len(all) == 0 {
		return nil
	}
	info := metrics.Measure{Name: "knack_source_info", Kind: "gauge", Help: "The release of a source that is served; the value is 1."}
	since := metrics.Measure{Name: "knack_source_release_timestamp_seconds", Kind: "gauge", Help: "When the release of a source was first served here, in seconds since 1970."}
	age := metrics.Measure{Name: "knack_source_age_seconds", Kind: "gauge", Help: "Seconds since a source last answered, or since it began not to."}
	refused := metrics.Measure{Name: "knack_source_refused", Kind: "gauge", Help: "1 while the release of a source is not taken, by reason."}
	refusals := metrics.Measure{Name: "knack_source_refusals_total", Kind: "counter", Help: "Releases of a source that were not taken, by reason."}
	polls := metrics.Measure{Name: "knack_source_polls_total", Kind: "counter", Help: "Times that a source was asked, by outcome (unchanged, pulled, failed, refused)."}
	pulls := metrics.Measure{Name: "knack_source_pull_seconds", Kind: "summary", Help: "How long the pulls of releases took."}
	fetched := metrics.Measure{Name: "knack_source_bytes_total", Kind: "counter", Help: "Bytes that were fetched from a source."}
	swaps := metrics.Measure{Name: "knack_source_swaps_total", Kind: "counter", Help: "Times that another release of a source was served from then on."}
	damaged := metrics.Measure{Name: "knack_source_damaged_skills_total", Kind: "counter", Help: "Skills of the store that were found damaged, and were fetched again."}
	for _, s := range all {
		add := func(m *metrics.Measure, value float64, labels ...string) {
			m.Samples = append(m.Samples, metrics.Sample{Value: value, Labels: append([]string{"source", s.Name}, labels...)})
		}
		if s.Release != "" {
			add(&info, 1, "version", s.Version, "digest", s.Release, "signature", s.Signature)
		}
		if !s.Since.IsZero() {
			add(&since, float64(s.Since.UnixMilli())/1000)
		}
		if heard := lastAnswer(s); !heard.IsZero() {
			add(&age, max(now.Sub(heard).Seconds(), 0))
		}
		for _, outcome := range follow.Outcomes {
			add(&polls, float64(s.Polls[outcome]), "outcome", string(outcome))
		}
		for _, why := range pull.Reasons {
			value := 0.0
			if s.Refused == why {
				value = 1
			}
			add(&refused, value, "reason", string(why))
			add(&refusals, float64(s.RefusedEach[why]), "reason", string(why))
		}
		pulls.Samples = append(pulls.Samples,
			metrics.Sample{Suffix: "_sum", Value: s.PullTime.Seconds(), Labels: []string{"source", s.Name}},
			metrics.Sample{Suffix: "_count", Value: float64(s.Pulls), Labels: []string{"source", s.Name}})
		add(&fetched, float64(s.Bytes))
		add(&swaps, float64(s.Swaps))
		add(&damaged, float64(s.Damaged))
	}
	return []metrics.Measure{info, since, age, refused, refusals, polls, pulls, fetched, swaps, damaged}
}
