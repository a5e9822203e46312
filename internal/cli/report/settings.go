package report

import (
	"io"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/workspace/settings"
	"github.com/knack-dev/knack/skill"
)

// settingsDocument is the JSON form of config check.
type settingsDocument struct {
	Version  int          `json:"version"`
	Files    []string     `json:"files"`
	Findings []problemRow `json:"findings"`
	// Warnings do not change the exit status, since the file may be intended.
	Warnings []string `json:"warnings,omitempty"`
	// Notes say which sections of a file count for some commands alone.
	Notes []string `json:"notes,omitempty"`
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

// Settings prints the problems of configuration files, their warnings and notes, as text or JSON.
// It returns the number of problems.
func Settings(env *console.Env, files []*settings.File, warningsOf, notesOf func(*settings.File) []string, asJSON bool) (problems int, err error) {
	out := settingsDocument{Version: 1, Files: []string{}, Findings: []problemRow{}}
	p := env.Out()
	if asJSON {
		p = console.PrinterOf(io.Discard)
	}
	for _, f := range files {
		out.Files = append(out.Files, f.Shown)
		for _, n := range notesOf(f) {
			out.Notes = append(out.Notes, f.Shown+": "+n)
			p.Line("%s: note: %s", console.Bold.Of(f.Shown), n)
		}
		warnings := warningsOf(f)
		if len(f.Problems)+len(warnings) == 0 {
			p.Line("%s: nothing is wrong", console.Bold.Of(f.Shown))
		}
		for _, w := range warnings {
			out.Warnings = append(out.Warnings, f.Shown+": "+w)
			p.Line("%s: %s: %s", console.Bold.Of(f.Shown), console.Yellow.Of("warning"), w)
		}
		source := check.NewSource(f.Data)
		hideTokens(source, f.Problems)
		for _, wrong := range f.Problems {
			out.Findings = append(out.Findings, problemRow{wrong.Rule, f.Shown, wrong.Position.Line, wrong.Position.Column, wrong.Field, wrong.Message, wrong.Fix})
			Diagnostic{
				File: f.Shown, Severity: skill.SeverityError, Rule: wrong.Rule, At: wrong.Position, Length: wordLength(source, wrong.Position), Message: wrong.Message, Fix: wrong.Fix,
			}.Print(p, source)
		}
	}
	err = p.Failed()
	if asJSON {
		err = console.PrintJSON(env.Stdout, out)
	}
	return len(out.Findings), err
}

// secrets returns tokens that were written in place of their hashes.
var secrets = lazyregexp.New(`knack_[A-Za-z0-9_-]+`)

// hideTokens replaces possible tokens by stars, to keep them out of terminals and logs.
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
