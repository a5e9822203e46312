// Package report has the results of checking skills, of servers and of configuration files. It
// prints them as text for people, as JSON, as SARIF for programs that show findings beside code,
// and as annotations of GitHub. A [Diagnostic] is a message about a position in a file.
package report

import (
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/judgement"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Run is the result of one run of check.
type Run struct {
	Skills []*Judged
	// Plugins and Marketplaces are the given ones. Plugins also has the plugins of the
	// marketplaces.
	Plugins      []Plugin
	Marketplaces []Marketplace
	Findings     []Finding
	Silenced     int      // number of findings that the settings dropped
	Settings     []string // the configuration files in effect, in the form for people
	Infos        bool     // print infos in every format
	Notes        []string // further lines of text for people
}

// Judged is a verdict on a skill. Folder is the path of the skill in the form for people.
type Judged struct {
	*judgement.Verdict
	Folder string
}

// Shown returns the path of one of the skill's files in the form for people.
func (s *Judged) Shown(file string) string { return skill.Join(s.Folder, file) }

// Finding is a finding. Shown is the path of its file in the form for people. Skill is nil for a
// notice of a scan and for a finding about a plugin; Text is then the text of the file, or nil.
type Finding struct {
	check.Finding
	Shown string
	Skill *Judged
	Text  *check.Source
}

// Formats are the values of --format for reports on skills.
var Formats = []string{"github", "json", "sarif", "text"}

// findings is a result that contains findings in files.
type findings interface {
	// diagnostics returns the findings with masked secrets. If whole is false, it leaves out the
	// findings that are only printed on request.
	diagnostics(whole bool) []Diagnostic
	rules() []sarifRule
}

// printAs prints findings as SARIF or as annotations. Secrets are masked except for their first
// characters.
func printAs(env *console.Env, r findings, format string) (ok bool, err error) {
	switch format {
	case "sarif":
		return true, console.PrintJSON(env.Stdout, sarifOf(r))
	case "github":
		return true, printAnnotations(env.Stdout, r.diagnostics(false))
	}
	return false, nil
}

// PrintAs implements [command.Formatted].
func (r *Run) PrintAs(env *console.Env, format string) (ok bool, err error) {
	return printAs(env, r, format)
}

// PrintNotes implements [command.Noted].
func (r *Run) PrintNotes(env *console.Env, format string) {
	if r.Silenced > 0 && format != "text" { // the last line of the text reports it
		env.Err().Line("%s left out by %s", display.Count(r.Silenced, "finding"), r.Files())
	}
	for _, note := range r.Notes {
		env.Err().Line("%s", note)
	}
}

func (r *Run) diagnostics(whole bool) (all []Diagnostic) {
	for _, f := range r.Findings {
		if whole || r.Infos || f.Severity != skill.SeverityInfo {
			all = append(all, f.diagnostic())
		}
	}
	return all
}

// diagnostic converts a finding to a message about its file. Secrets are masked.
func (f *Finding) diagnostic() Diagnostic {
	return Diagnostic{
		File: f.Shown, Severity: f.Severity, Rule: f.Rule, At: f.Position, Length: f.Length,
		Message: f.Message, Fix: f.Fix, Notes: f.Notes, Related: f.Related,
	}.masked()
}

// sources reads the texts of files for excerpts. It caches only the last text, since findings are
// sorted by file.
type sources struct {
	skill *skill.Skill
	file  string
	text  *check.Source
}

// read returns the text of a skill's file, or nil if the file cannot be shown. It cannot show a
// file in an archive. main is the content of the main file, or nil if that was not read.
func (s *sources) read(k *skill.Skill, file string, main []byte) *check.Source {
	if k.FS == nil || strings.Contains(file, "!") {
		return nil
	}
	if s.skill == k && s.file == file {
		return s.text
	}
	s.skill, s.file, s.text = k, file, nil
	if main == nil || k.OnDisk(file) != k.Entry {
		data, _, err := k.ReadServed(file, skill.MaxFile)
		if err != nil {
			return nil
		}
		main = data
	}
	s.text = check.NewSource(main)
	return s.text
}

// Count returns the number of findings of a severity.
func (r *Run) Count(severity skill.Severity) (n int) {
	for _, f := range r.Findings {
		if f.Severity == severity {
			n++
		}
	}
	return n
}

func (r *Run) fixable(level check.Level) (n int) {
	for _, f := range r.Findings {
		if f.Fixable == level {
			n++
		}
	}
	return n
}

// Files lists the configuration files in effect.
func (r *Run) Files() string { return strings.Join(r.Settings, " and ") }
