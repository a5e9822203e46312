package cli

import (
	"github.com/knack-dev/knack/doctor"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/skill"
)

// checkReport is the JSON form of check, described in doc/check.md. New fields may be
// added, but no field changes its meaning.
type checkReport struct {
	Version  int             `json:"version"`
	Settings []string        `json:"settings,omitempty"` // the configuration files in effect
	Summary  checkSummary    `json:"summary"`
	Skills   []reportSkill   `json:"skills"`
	Findings []reportFinding `json:"findings"`
}

type checkSummary struct {
	Skills   int `json:"skills"`
	Errors   int `json:"errors"`
	Warnings int `json:"warnings"`
	Infos    int `json:"infos"`
	// Silenced is the number of findings that a configuration file dropped.
	Silenced int `json:"silenced,omitempty"`
}

type reportSkill struct {
	Folder      string     `json:"folder"`
	File        string     `json:"file,omitempty"`
	Name        string     `json:"name,omitempty"`
	Available   bool       `json:"available"`
	Publishable bool       `json:"publishable"`
	Cost        reportCost `json:"cost"`
}

type reportCost struct {
	ListingCharacters int   `json:"listingCharacters"`
	ListingTokens     int   `json:"listingTokens"`
	BodyCharacters    int   `json:"bodyCharacters"`
	BodyTokens        int   `json:"bodyTokens"`
	Lines             int   `json:"lines"`
	Files             int   `json:"files"`
	Bytes             int64 `json:"bytes"`
	More              bool  `json:"more,omitempty"`
}

type reportFinding struct {
	doctor.Problem
	Skill   string       `json:"skill,omitempty"`
	Related *reportPlace `json:"related,omitempty"`
}

type reportPlace struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

func printCheckJSON(env *console.Env, run *checkRun, _ *checkFlags) error {
	out := checkReport{
		Version: 1, Skills: []reportSkill{}, Findings: []reportFinding{},
		Summary: checkSummary{
			Skills: len(run.skills), Errors: run.count(skill.SeverityError),
			Warnings: run.count(skill.SeverityWarning), Infos: run.count(skill.SeverityInfo),
			Silenced: run.silenced,
		},
	}
	for _, f := range run.used {
		out.Settings = append(out.Settings, f.shown)
	}
	for _, s := range run.skills {
		r := reportSkill{Folder: s.folder, Name: s.Skill.Name, Available: s.Skill.Available, Cost: reportCost(s.Cost)}
		r.Publishable = s.Publishable()
		if s.Skill.Entry != "" {
			r.File = s.shown(s.Skill.Entry)
		}
		out.Skills = append(out.Skills, r)
	}
	for _, f := range run.findings {
		r := reportFinding{Problem: doctor.ProblemOf(f.Finding, f.shown)}
		if f.skill != nil {
			r.Skill = f.skill.folder
		}
		if p := f.Related; p != nil {
			r.Related = &reportPlace{p.File, p.Position.Line, p.Position.Column}
		}
		out.Findings = append(out.Findings, r)
	}
	return console.PrintJSON(env.Stdout, out)
}
