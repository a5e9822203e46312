package report

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Scanned is the result of a scan of one skill.
type Scanned struct {
	scan.Report
	Folder string // in the form for people
	Place  string // for a baseline: relative to the scanned folder
	Name   string
	Set    string // the digest of the files, or "" if they cannot all be listed
	Skill  *skill.Skill
	// Accepted are the accepted findings, each with the reason and the place of the acceptance.
	// They are not in Report.
	Accepted []scan.Accepted
}

// ScanRun is the result of one run of the command scan.
type ScanRun struct {
	Skills []*Scanned // sorted by folder
	Known  int        // number of findings that the baseline drops
	File   string     // the baseline, in the form for people
}

// Count returns the number of findings of a lane.
func (r *ScanRun) Count(lane scan.Lane) (n int) {
	for _, s := range r.Skills {
		if lane == scan.Enforce {
			n += s.Enforce
		} else {
			n += s.Review
		}
	}
	return n
}

var laneSeverities = map[scan.Lane]skill.Severity{scan.Enforce: skill.SeverityError, scan.Review: skill.SeverityInfo}

// diagnostic converts a finding of the skill to a message about its file.
func (s *Scanned) diagnostic(f scan.Finding) Diagnostic {
	return Diagnostic{File: skill.Join(s.Folder, f.File), Severity: laneSeverities[f.Lane], Rule: f.Rule, At: f.Position, Length: f.Length, Message: f.Message, Fix: f.Fix, Notes: f.Notes}
}

func (r *ScanRun) diagnostics(bool) (all []Diagnostic) {
	for _, s := range r.Skills {
		for _, f := range s.Findings {
			all = append(all, s.diagnostic(f).masked())
		}
	}
	return all
}

// PrintAs implements [command.Formatted].
func (r *ScanRun) PrintAs(env *console.Env, format string) (ok bool, err error) {
	return printAs(env, r, format)
}

// PrintNotes implements [command.Noted].
func (r *ScanRun) PrintNotes(env *console.Env, format string) {
	if r.Known > 0 && format != "text" { // the last line of the text reports it
		env.Err().Line("%s left out by %s", display.Count(r.Known, "finding"), r.File)
	}
}

// Print implements [command.Result].
func (r *ScanRun) Print(env *console.Env) {
	p := env.Out()
	var texts sources
	for _, s := range r.Skills {
		for _, f := range s.Findings {
			s.diagnostic(f).masked().Print(p, texts.read(s.Skill, f.File, nil))
		}
	}
	for _, s := range r.Skills {
		if more := s.Enforce + s.Review - len(s.Findings); more > 0 {
			p.Line("%s: %s more", console.OneLine(scan.MaskSecrets(s.Folder)), display.Count(more, "finding"))
		}
	}
	for _, s := range r.Skills {
		for _, a := range s.Accepted {
			p.Line("%s: accepted: %s, %s", console.OneLine(scan.MaskSecrets(s.Folder)), a.Rule, console.OneLine(a.Reason))
		}
	}
	if len(r.Skills) == 1 {
		for _, l := range factLines(r.Skills[0].Facts) {
			p.Item(2, "%s", l)
		}
	}
	last := fmt.Sprintf("%s: %s to enforce, %s to review", display.Count(len(r.Skills), "skill"), display.Count(r.Count(scan.Enforce), "finding"), display.Count(r.Count(scan.Review), "finding"))
	if r.Known > 0 {
		last += fmt.Sprintf("; %s left out by the baseline", display.Count(r.Known, "finding"))
	}
	p.Line("%s", last)
	if len(r.Skills) > 1 {
		env.Err().Text(console.Hint, env.Command("scan", "SKILL")+" also lists the programs, hosts and paths that it names")
	}
}

// factLines returns the facts as lines for people.
func factLines(f scan.Facts) (lines []string) {
	for _, l := range []struct {
		what   string
		values []string
	}{
		{"starts", f.Programs}, {"names the hosts", f.Hosts}, {"installs", f.Packages}, {"reads the variables", f.Variables},
		{"reads", f.Reads}, {"writes", f.Writes}, {"has the programs", f.Binaries}, {"may use the tools", f.Tools},
		{"has hidden text in", f.Hidden}, {"runs unasked", f.Unasked}, {"was not read", f.NotRead},
	} {
		if len(l.values) > 0 {
			lines = append(lines, l.what+": "+strings.Join(l.values, ", "))
		}
	}
	return lines
}

// scanDocument is the JSON form of the result of scan, as doc/scan.md describes it.
type scanDocument struct {
	Version int         `json:"version"`
	Summary scanSummary `json:"summary"`
	Skills  []scanRow   `json:"skills"`
}

type scanSummary struct {
	Skills  int `json:"skills"`
	Enforce int `json:"enforce"`
	Review  int `json:"review"`
	Known   int `json:"known,omitempty"`
}

type scanRow struct {
	Folder   string               `json:"folder"`
	Name     string               `json:"name,omitempty"`
	Set      string               `json:"set,omitempty"`
	Enforce  int                  `json:"enforce"`
	Review   int                  `json:"review"`
	Findings []doctor.ScanFinding `json:"findings"`
	Facts    scan.Facts           `json:"facts"`
	Accepted []scan.Accepted      `json:"accepted,omitempty"`
}

// JSON returns the JSON form.
func (r *ScanRun) JSON() any {
	out := scanDocument{Version: 1, Skills: []scanRow{}, Summary: scanSummary{len(r.Skills), r.Count(scan.Enforce), r.Count(scan.Review), r.Known}}
	for _, s := range r.Skills {
		out.Skills = append(out.Skills, scanRow{scan.MaskSecrets(s.Folder), scan.MaskSecrets(s.Name), s.Set, s.Enforce, s.Review, doctor.ScanFindings(s.Findings), s.Facts, s.Accepted})
	}
	return out
}

// rules returns the rules of scan.
func (r *ScanRun) rules() (rules []sarifRule) {
	for _, r := range scan.Rules {
		rules = append(rules, sarifRuleOf(r.ID, r.Title, r.Source, laneSeverities[r.Lane], map[string]string{"lane": string(r.Lane)},
			"To mend it: "+r.Fix+". 'knack approve SKILL --accept "+string(r.ID)+" --reason TEXT' accepts it on a server that enforces."))
	}
	return rules
}
