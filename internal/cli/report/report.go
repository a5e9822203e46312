// Package report has the results of checking skills, and prints them: as text for people, as JSON,
// as SARIF for programs that show findings beside code, and as annotations of GitHub. It also has
// the problems of servers and of configuration files. A [Diagnostic] is one message about a
// position in any file.
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
	// Plugins and Marketplaces are those that were given, with the plugins of the marketplaces.
	Plugins      []Plugin
	Marketplaces []Marketplace
	Findings     []Finding
	Silenced     int      // the number of findings that the settings dropped
	Settings     []string // the configuration files in effect, as they are shown
	Infos        bool     // print infos too, in the forms that leave them out
	Notes        []string // further lines for people
}

// Judged is a verdict with the displayed path of the skill's folder.
type Judged struct {
	*judgement.Verdict
	Folder string
}

// Shown returns the displayed path of one of the skill's files.
func (s *Judged) Shown(file string) string { return skill.Join(s.Folder, file) }

// Finding is a finding with the displayed path of its file. Skill is nil for a notice of a scan, and for
// a finding about a plugin; Text is the file's text in that case, or nil.
type Finding struct {
	check.Finding
	Shown string
	Skill *Judged
	Text  *check.Source
}

// Formats are the formats of reports on skills: the values of --format.
var Formats = []string{"github", "json", "sarif", "text"}

// findings is a result with findings in files.
type findings interface {
	// diagnostics returns the findings, without secrets. If whole is false, it leaves out findings
	// that the user has to ask for.
	diagnostics(whole bool) []Diagnostic
	rules() []sarifRule
}

// printAs prints findings as SARIF or as annotations. Neither has more than the first characters of
// a secret.
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
	if r.Silenced > 0 && format != "text" { // the last line of text says so itself
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

// diagnostic returns a finding as a message about its file, without secrets.
func (f *Finding) diagnostic() Diagnostic {
	return Diagnostic{
		File: f.Shown, Severity: f.Severity, Rule: f.Rule, At: f.Position, Length: f.Length,
		Message: f.Message, Fix: f.Fix, Notes: f.Notes, Related: f.Related,
	}.masked()
}

// sources are the texts of files for excerpts. It caches the last one, since findings are sorted
// by file.
type sources struct {
	skill *skill.Skill
	file  string
	text  *check.Source
}

// read returns the text of a skill's file, or nil if it cannot be shown. A file in an archive
// cannot. main is the main file if it was read, else nil.
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
