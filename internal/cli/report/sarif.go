package report

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/buildinfo"
	"github.com/knack-dev/knack/skill"
)

// These types are the part of SARIF 2.1.0 that a linter uses
// (docs.oasis-open.org/sarif/sarif/v2.1.0).
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
		Full    sarifText         `json:"fullDescription"`
		Help    sarifText         `json:"help"`
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

// rules returns the rules of check.
func (r *Run) rules() (rules []sarifRule) {
	for _, r := range check.Rules {
		rules = append(rules, sarifRuleOf(r.ID, r.Title, r.Source, r.Severity, map[string]string{"group": string(r.Group)},
			"Each finding says what to change; 'knack check --fix' changes what has one right form."))
	}
	return rules
}

// sarifRuleOf converts a rule. The full description contains the source of the rule.
func sarifRuleOf(id skill.RuleID, title, source string, s skill.Severity, details map[string]string, help string) sarifRule {
	details["source"] = source
	first, size := utf8.DecodeRuneInString(title)
	return sarifRule{
		ID: id, Short: sarifText{title}, Full: sarifText{string(unicode.ToUpper(first)) + title[size:] + ". Source: " + source + "."}, Help: sarifText{help},
		Config: sarifConfig{sarifLevels[s]}, Details: details,
	}
}

// sarifOf converts the findings to the log of one run. Each result has the index of its rule.
func sarifOf(r findings) sarifLog {
	rules, results := append([]sarifRule{}, r.rules()...), []sarifResult{}
	for _, d := range r.diagnostics(true) {
		one := sarifResultOf(d)
		// The index is -1 for a rule that is not in the table (SARIF 3.27.6).
		one.RuleIndex = slices.IndexFunc(rules, func(r sarifRule) bool { return r.ID == d.Rule })
		results = append(results, one)
	}
	return sarifLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{{
		Tool:       sarifTool{sarifDriver{Name: "knack", Version: buildinfo.Current().Version, URI: homePage, Rules: rules}},
		ColumnKind: "unicodeCodePoints", Results: results,
	}}}
}

// sarifResultOf converts a message about a position in a file. A zero position stands for the whole
// file.
func sarifResultOf(d Diagnostic) sarifResult {
	message := d.text("; ")
	if d.Fix != "" {
		message += "; fix: " + d.Fix
	}
	at := sarifPhysical{Artifact: sarifArtifact{sarifURI(d.File)}, Region: &sarifRegion{StartLine: 1}} // GitHub needs a region
	if p := d.At; p.Line > 0 {
		at.Region = &sarifRegion{StartLine: p.Line, StartColumn: p.Column, EndColumn: p.Column + max(d.Length, 1)}
	}
	out := sarifResult{RuleID: d.Rule, Level: sarifLevels[d.Severity], Message: sarifText{message}, Locations: []sarifLocation{{at}}}
	if p := d.Related; p != nil {
		out.Related = []sarifRelated{{1, sarifPhysical{sarifArtifact{sarifURI(p.File)}, &sarifRegion{StartLine: p.Position.Line, StartColumn: p.Position.Column}}, sarifText{"the first"}}}
	}
	return out
}

// sarifURI returns a path as a URI reference. An absolute path becomes a file URI.
func sarifURI(p string) string {
	if u, err := url.Parse(p); err == nil && strings.Contains(p, "://") { // of a remote source
		return u.String()
	}
	u := url.URL{Path: path.Clean(p)}
	if path.IsAbs(p) || len(p) > 1 && p[1] == ':' {
		u.Scheme, u.Path = "file", "/"+strings.TrimLeft(p, "/")
	}
	return u.String()
}
