package report

import (
	"net/url"
	"path"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/skill"
)

// The part of SARIF 2.1.0 that a linter uses (docs.oasis-open.org/sarif/sarif/v2.1.0).
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		URI     string      `json:"informationUri"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      skill.RuleID      `json:"id"`
		Short   sarifText         `json:"shortDescription"`
		Config  sarifConfig       `json:"defaultConfiguration"`
		Details map[string]string `json:"properties"`
	}
	sarifConfig struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    skill.RuleID    `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
		Related   []sarifRelated  `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifRelated struct {
		ID       int           `json:"id"`
		Physical sarifPhysical `json:"physicalLocation"`
		Message  sarifText     `json:"message"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

const (
	sarifSchema = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
	homePage    = "https://github.com/knack-dev/knack"
)

var sarifLevels = map[skill.Severity]string{
	skill.SeverityError: "error", skill.SeverityWarning: "warning", skill.SeverityInfo: "note",
}

func printSARIF(env *console.Env, run *Run) error {
	driver := sarifDriver{Name: "knack", Version: run.Version, URI: homePage, Rules: []sarifRule{}}
	index := map[skill.RuleID]int{}
	for i, r := range check.Rules {
		index[r.ID] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: r.ID, Short: sarifText{r.Title}, Config: sarifConfig{sarifLevels[r.Severity]},
			Details: map[string]string{"group": string(r.Group), "source": r.Source},
		})
	}
	results := []sarifResult{}
	for _, f := range run.Findings {
		i, known := index[f.Rule]
		if !known {
			i = -1 // no rule of the table (SARIF 3.27.6)
		}
		message := f.Message
		if f.Fix != "" {
			message += "; fix: " + f.Fix
		}
		r := sarifResult{RuleID: f.Rule, RuleIndex: i, Level: sarifLevels[f.Severity], Message: sarifText{message}}
		at := sarifPhysical{Artifact: sarifArtifact{sarifURI(f.Shown)}}
		if p := f.Position; p.Line > 0 {
			at.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column, EndColumn: p.Column + max(f.Length, 1)}
		} else {
			at.Region = &sarifRegion{StartLine: 1} // GitHub ignores a result without one
		}
		r.Locations = []sarifLocation{{at}}
		if p := f.Related; p != nil {
			r.Related = []sarifRelated{{1, sarifPhysical{sarifArtifact{sarifURI(p.File)}, &sarifRegion{StartLine: p.Position.Line, StartColumn: p.Position.Column}}, sarifText{"the first"}}}
		}
		results = append(results, r)
	}
	return console.PrintJSON(env.Stdout, sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{{
		Tool: sarifTool{driver}, ColumnKind: "unicodeCodePoints", Results: results,
	}}})
}

// sarifURI writes a path as a URI reference, an absolute one as a file URI.
func sarifURI(p string) string {
	u := url.URL{Path: path.Clean(p)}
	if path.IsAbs(p) || len(p) > 1 && p[1] == ':' {
		u.Scheme, u.Path = "file", "/"+strings.TrimLeft(p, "/")
	}
	return u.String()
}
