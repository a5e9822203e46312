// Package scans shows the findings of scans: on pages, in the API and as metrics.
package scans

import (
	"cmp"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/server/metrics"
	"github.com/knack-dev/knack/skill"
)

// Known is the result of the operator's policy for a skill.
type Known struct {
	Set    skill.Digest // of its files
	Report *scan.Report // nil if the policy scans nothing
	// Accepted are the findings that the policy accepts. They are not in Report.
	Accepted []scan.Accepted
	// Approval says how the skill is approved, or why it is not; "" if no approval is needed. It
	// may name a person.
	Approval string
	Approved bool
}

// Item is the API's form of [Known].
type Item struct {
	Set      string `json:"set,omitempty"`
	Approved *bool  `json:"approved,omitempty"` // absent if the skill need not be approved
	*Result
}

// Result is the JSON form of a report.
type Result struct {
	Enforce  int                  `json:"enforce"`
	Review   int                  `json:"review"`
	Findings []doctor.ScanFinding `json:"findings"`
	Facts    scan.Facts           `json:"facts"`
	Accepted []scan.Accepted      `json:"accepted,omitempty"` // without reasons
}

// ItemOf returns the API's form of k.
func ItemOf(k Known) *Item {
	out := &Item{Set: setOf(k)}
	if k.Approval != "" {
		out.Approved = &k.Approved
	}
	if k.Report != nil {
		out.Result = &Result{k.Report.Enforce, k.Report.Review, doctor.ScanFindings(k.Report.Findings), k.Report.Facts, withoutReasons(k.Accepted)}
	}
	return out
}

// withoutReasons returns accepted findings without the operator's words.
func withoutReasons(all []scan.Accepted) (out []scan.Accepted) {
	for _, a := range all {
		out = append(out, scan.Accepted{Rule: a.Rule, Count: a.Count})
	}
	return out
}

func setOf(k Known) string {
	if k.Set == (skill.Digest{}) {
		return ""
	}
	return k.Set.String()
}

// View is a page's form of [Known].
type View struct {
	Scanned         bool
	Enforce, Review int
	Rows            []Row // the findings to enforce come first
	More            int   // findings that the report does not list
	Accepted        []scan.Accepted
	Facts           []Fact
	Set             string
	Approval        string
}

// Row is a finding.
type Row struct {
	doctor.ScanFinding
	Href string // the line of the file, "" if it cannot be shown
}

// Fact is one kind of facts about a skill, with its values.
type Fact struct {
	What   string
	Values []string
	More   int // values that are not shown
}

// factRows bounds the values of a fact that a page shows. The API has all.
const factRows = 100

// ViewOf returns a page's form of k. href returns the address of a line of a file. If frank is set,
// the view names the person who approved the skill and the reasons to accept findings.
func ViewOf(k Known, href func(file string, line int) string, frank bool) View {
	v := View{Set: setOf(k), Approval: k.Approval}
	if k.Approval != "" && !frank {
		v.Approval = map[bool]string{true: "approved", false: "not approved"}[k.Approved]
	}
	if k.Report == nil {
		return v
	}
	v.Accepted = k.Accepted
	if !frank {
		v.Accepted = withoutReasons(k.Accepted)
	}
	v.Scanned, v.Enforce, v.Review = true, k.Report.Enforce, k.Report.Review
	for i, f := range doctor.ScanFindings(k.Report.Findings) {
		row := Row{ScanFinding: f}
		if f.File == k.Report.Findings[i].File { // otherwise a secret was cut out of the name
			row.Href = href(f.File, f.Line)
		}
		v.Rows = append(v.Rows, row)
	}
	slices.SortStableFunc(v.Rows, func(a, b Row) int { return cmp.Compare(a.Lane, b.Lane) })
	v.More = v.Enforce + v.Review - len(v.Rows)
	f := k.Report.Facts
	for _, fact := range []Fact{
		{What: "Programs it starts", Values: f.Programs}, {What: "Hosts", Values: f.Hosts}, {What: "Packages it installs", Values: f.Packages},
		{What: "Variables it reads", Values: f.Variables}, {What: "Paths it reads", Values: f.Reads}, {What: "Paths it writes", Values: f.Writes},
		{What: "Programs in it", Values: f.Binaries}, {What: "Tools it may use", Values: f.Tools}, {What: "Files with hidden text", Values: f.Hidden},
		{What: "Files that run unasked", Values: f.Unasked}, {What: "Files not read", Values: f.NotRead},
	} {
		if fact.More = max(len(fact.Values)-factRows, 0); len(fact.Values) > 0 {
			fact.Values = fact.Values[:len(fact.Values)-fact.More]
			v.Facts = append(v.Facts, fact)
		}
	}
	return v
}

// Measures returns the metrics of scan findings.
func Measures(c judgement.ScanCount) []metrics.Measure {
	sample := func(value int, lane scan.Lane) metrics.Sample {
		return metrics.Sample{Value: float64(value), Labels: []string{"lane", string(lane)}}
	}
	return []metrics.Measure{
		{Name: "knack_scan_findings", Kind: "gauge", Help: "Findings of the scans of the skills, by lane.", Samples: []metrics.Sample{sample(c.Enforce.Findings, scan.Enforce), sample(c.Review.Findings, scan.Review)}},
		{Name: "knack_scan_skills", Kind: "gauge", Help: "Skills with a finding, by lane.", Samples: []metrics.Sample{sample(c.Enforce.Skills, scan.Enforce), sample(c.Review.Skills, scan.Review)}},
		{Name: "knack_scan_pending_skills", Kind: "gauge", Help: "Skills that are not scanned yet.", Samples: []metrics.Sample{{Value: float64(c.Unscanned)}}},
	}
}
