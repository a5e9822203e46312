package report

import (
	"github.com/knack-dev/knack/internal/analysis/doctor"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/skill"
)

// document is the JSON form of the result of check, as doc/check.md describes it. New fields may be
// added, but no field changes its meaning.
type document struct {
	Version  int        `json:"version"`
	Settings []string   `json:"settings,omitempty"` // the configuration files in effect
	Summary  summary    `json:"summary"`
	Skills   []skillRow `json:"skills"`
	// Plugins and Marketplaces are left out if none was checked.
	Plugins      []pluginRow      `json:"plugins,omitempty"`
	Marketplaces []marketplaceRow `json:"marketplaces,omitempty"`
	Findings     []findingRow     `json:"findings"`
}

type summary struct {
	Skills   int `json:"skills"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// Silenced is the number of findings that the configuration files dropped.
	Silenced int `json:"silenced,omitempty"`
}

type skillRow struct {
	Folder      string  `json:"folder"`
	File        string  `json:"file,omitempty"`
	Name        string  `json:"name,omitempty"`
	Available   bool    `json:"available"`
	Publishable bool    `json:"publishable"` // in the Skills extension's lists; knack publish also refuses errors
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
	Notes   []string     `json:"notes,omitempty"`
	Skill   string       `json:"skill,omitempty"`
	Related *positionRow `json:"related,omitempty"`
}

type positionRow struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// JSON returns the JSON form.
func (r *Run) JSON() any {
	out := document{
		Version: 1, Settings: r.Settings, Skills: []skillRow{}, Findings: []findingRow{},
		Summary: summary{
			Skills: len(r.Skills), Errors: r.Count(skill.SeverityError),
			Warnings: r.Count(skill.SeverityWarning), Infos: r.Count(skill.SeverityInfo),
			Silenced: r.Silenced,
		},
	}
	for _, s := range r.Skills {
		row := skillRow{Folder: scan.MaskSecrets(s.Folder), Name: scan.MaskSecrets(s.Skill.Name), Available: s.Skill.Available, Cost: costRow(s.Cost)}
		row.Publishable = s.Publishable()
		if s.Skill.Entry != "" {
			row.File = scan.MaskSecrets(s.Shown(s.Skill.Entry))
		}
		out.Skills = append(out.Skills, row)
	}
	valid := r.validSkills()
	for _, p := range r.Plugins {
		out.Plugins = append(out.Plugins, p.row(valid))
	}
	for _, m := range r.Marketplaces {
		out.Marketplaces = append(out.Marketplaces, m.row())
	}
	for _, f := range r.Findings {
		d := f.diagnostic()
		f.Message, f.Fix = d.Message, d.Fix
		row := findingRow{Problem: doctor.ProblemOf(f.Finding, d.File), Notes: f.Notes}
		if f.Skill != nil {
			row.Skill = scan.MaskSecrets(f.Skill.Folder)
		}
		if p := d.Related; p != nil {
			row.Related = &positionRow{p.File, p.Position.Line, p.Position.Column}
		}
		out.Findings = append(out.Findings, row)
	}
	return out
}
