package report

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// Settings is a report on configuration files.
type Settings struct {
	Version  int          `json:"version"`
	Files    []string     `json:"files"`
	Findings []problemRow `json:"findings"`
	// Warnings do not change the exit status, since the settings may be intended.
	Warnings []string `json:"warnings,omitempty"`
	// Notes describe sections of a file that take effect only for some commands.
	Notes []string `json:"notes,omitempty"`

	files  []settingsFile
	unread []string
}

type settingsFile struct {
	*settings.File
	warnings, notes []string
}

type problemRow struct {
	Rule    skill.RuleID `json:"rule"`
	File    string       `json:"file"`
	Line    int          `json:"line"`
	Column  int          `json:"column"`
	Key     string       `json:"key,omitempty"`
	Message string       `json:"message"`
	Fix     string       `json:"fix"`
}

// NewSettings returns a report without files. unread are the warnings about files that are not
// read.
func NewSettings(unread []string) *Settings {
	return &Settings{Version: 1, Files: []string{}, Findings: []problemRow{}, Warnings: slices.Clone(unread), unread: unread}
}

// Add adds a file to the report, with its warnings and notes.
func (s *Settings) Add(f *settings.File, warnings, notes []string) {
	s.files, s.Files = append(s.files, settingsFile{f, warnings, notes}), append(s.Files, f.Shown)
	for _, n := range notes {
		s.Notes = append(s.Notes, f.Shown+": "+n)
	}
	for _, w := range warnings {
		s.Warnings = append(s.Warnings, f.Shown+": "+w)
	}
	for _, p := range f.Problems {
		s.Findings = append(s.Findings, problemRow{p.Rule, f.Shown, p.Position.Line, p.Position.Column, p.Field, p.Message, p.Fix})
	}
}

// Print implements [command.Result].
func (s *Settings) Print(env *console.Env) {
	p := env.Out()
	for _, w := range s.unread {
		p.Line("%s: %s", console.Yellow.Of("warning"), w)
	}
	for _, f := range s.files {
		name := console.Bold.Of(f.Shown)
		for _, n := range f.notes {
			p.Line("%s: note: %s", name, n)
		}
		if len(f.Problems)+len(f.warnings) == 0 {
			p.Line("%s: nothing is wrong", name)
		}
		for _, w := range f.warnings {
			p.Line("%s: %s: %s", name, console.Yellow.Of("warning"), w)
		}
		source := check.NewSource(f.Data)
		hideTokens(source, f.Problems)
		for _, wrong := range f.Problems {
			Diagnostic{
				File: f.Shown, Severity: skill.SeverityError, Rule: wrong.Rule, At: wrong.Position, Length: wordLength(source, wrong.Position), Message: wrong.Message, Fix: wrong.Fix,
			}.Print(p, source)
		}
	}
}

// secrets matches tokens that a user wrote in place of their hashes.
var secrets = lazyregexp.New(`knack_[A-Za-z0-9_-]+`)

// hideTokens replaces possible tokens with asterisks, to keep them out of terminals and logs.
func hideTokens(source *check.Source, problems []skill.Problem) {
	stars := func(text string) string { return strings.Repeat("*", utf8.RuneCountInString(text)) }
	source.Hide(func(n int, line string) string {
		line = secrets().ReplaceAllStringFunc(line, stars)
		for _, p := range problems {
			runes := []rune(line)
			if p.Position.Line == n && strings.HasSuffix(p.Field, ".hash") && p.Position.Column <= len(runes) {
				line = string(runes[:p.Position.Column-1]) + stars(string(runes[p.Position.Column-1:]))
			}
		}
		return line
	})
}

// wordLength returns the length in characters of the key or word at a position.
func wordLength(source *check.Source, at skill.Position) int {
	line, _ := source.Line(at.Line)
	runes := []rune(line)
	rest := string(runes[min(max(at.Column-1, 0), len(runes)):])
	if i := strings.IndexAny(rest, ": \t"); i >= 0 {
		rest = rest[:i]
	}
	return utf8.RuneCountInString(rest)
}
