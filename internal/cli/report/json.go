package report

import (
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/skill"
)

// document is the JSON form of check, described in doc/check.md. New fields may be
// added, but no field changes its meaning.
type document struct {
	Version  int          `json:"version"`
	Settings []string     `json:"settings,omitempty"` // the configuration files in effect
	Summary  summary      `json:"summary"`
	Skills   []skillRow   `json:"skills"`
	Findings []findingRow `json:"findings"`
}

type summary struct {
	Skills   int `json:"skills"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// Silenced is the number of findings that a configuration file dropped.
	Silenced int `json:"silenced,omitempty"`
}

type skillRow struct {
	Folder      string  `json:"folder"`
	File        string  `json:"file,omitempty"`
	Name        string  `json:"name,omitempty"`
	Available   bool    `json:"available"`
	Publishable bool    `json:"publishable"`
	Cost        costRow `json:"cost"`
}

type costRow struct {
	ListingCharacters int   `json:"listingCharacters"`
	ListingTokens     int   `json:"listingTokens"`
	BodyCharacters    int   `json:"bodyCharacters"`
	BodyTokens        int   `json:"bodyTokens"`
	Lines             int   `json:"lines"`
	Files             int   `json:"files"`
	Bytes             int64 `json:"bytes"`
	More              bool  `json:"more,omitempty"`
}

type findingRow struct {
	doctor.Problem
	Notes   []string  `json:"notes,omitempty"`
	Skill   string    `json:"skill,omitempty"`
	Related *placeRow `json:"related,omitempty"`
}

type placeRow struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func printJSON(env *console.Env, run *Run) error {
	out := document{
		Version: 1, Settings: run.Settings, Skills: []skillRow{}, Findings: []findingRow{},
		Summary: summary{
			Skills: len(run.Skills), Errors: run.Count(skill.SeverityError),
			Warnings: run.Count(skill.SeverityWarning), Infos: run.Count(skill.SeverityInfo),
			Silenced: run.Silenced,
		},
	}
	for _, s := range run.Skills {
		r := skillRow{Folder: scan.MaskSecrets(s.Folder), Name: scan.MaskSecrets(s.Skill.Name), Available: s.Skill.Available, Cost: costRow(s.Cost)}
		r.Publishable = s.Publishable()
		if s.Skill.Entry != "" {
			r.File = scan.MaskSecrets(s.Shown(s.Skill.Entry))
		}
		out.Skills = append(out.Skills, r)
	}
	for _, f := range run.Findings {
		d := f.diagnostic()
		f.Message, f.Fix = d.Message, d.Fix
		r := findingRow{Problem: doctor.ProblemOf(f.Finding, d.File), Notes: f.Notes}
		if f.Skill != nil {
			r.Skill = scan.MaskSecrets(f.Skill.Folder)
		}
		if p := f.Related; p != nil {
			r.Related = &placeRow{scan.MaskSecrets(p.File), p.Position.Line, p.Position.Column}
		}
		out.Findings = append(out.Findings, r)
	}
	return console.PrintJSON(env.Stdout, out)
}
