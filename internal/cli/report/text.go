package report

import (
	"fmt"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/check"
	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

var severityColours = map[skill.Severity]console.Style{
	skill.SeverityError: console.Red, skill.SeverityWarning: console.Yellow, skill.SeverityInfo: console.Cyan,
}

// Print implements [command.Result].
func (r *Run) Print(env *console.Env) {
	p := env.Out()
	hidden := 0
	var texts sources
	for _, f := range r.Findings {
		if f.Severity == skill.SeverityInfo && !r.Infos {
			hidden++
			continue
		}
		printFinding(p, f, &texts)
	}
	r.printPlugins(p)
	last := fmt.Sprintf("%s: %s, %s", r.Subjects(),
		display.Count(r.Count(skill.SeverityError), "error"), display.Count(r.Count(skill.SeverityWarning), "warning"))
	if n := r.fixable(check.Certain); n > 0 {
		last += fmt.Sprintf("; --fix corrects %d", n)
	}
	if n := r.fixable(check.Guess); n > 0 {
		last += fmt.Sprintf("; --fix=guess corrects %d more", n)
	}
	if n := r.Silenced; n > 0 {
		last += fmt.Sprintf("; %s left out by %s", display.Count(n, "finding"), r.Files())
	}
	if hidden > 0 {
		last += fmt.Sprintf("; --info shows %d more", hidden)
	}
	p.Line("%s", last)
}

// Diagnostic is a message about a position in a file.
type Diagnostic struct {
	File     string // in the form for people
	Severity skill.Severity
	Rule     skill.RuleID
	At       skill.Position
	Length   int // of the token, in characters
	Message  string
	Fix      string // the lines after the first are text for the file
	Notes    []string
	Related  *check.Place // or nil
}

// Print prints the message as a compiler does: the position, the message, the line with a mark
// below the token, and the fix. Without the text of the file it leaves out the line.
func (d Diagnostic) Print(p *console.Printer, source *check.Source) {
	where := d.File
	if d.At.Line > 0 {
		where += ":" + d.At.String()
	}
	colour := severityColours[d.Severity]
	p.Line("%s: %s: %s [%s]", console.Bold.Of(console.OneLine(where)), colour.Of(string(d.Severity)), console.OneLine(d.Message), d.Rule)
	gutter, number := "", fmt.Sprint(d.At.Line)
	if text, mark, ok := source.Excerpt(d.At, d.Length, p.Room(len("  | ")+len(number))); ok {
		gutter = strings.Repeat(" ", len(number))
		p.Row(" %s | %s", number, text)
		p.Row(" %s | %s", gutter, colour.Of(mark))
	}
	for _, n := range d.Notes {
		p.Item(len("= ")+len(gutter)+1, " %s = %s", gutter, console.OneLine(n))
	}
	if d.Fix != "" {
		ask, lines, _ := strings.Cut(d.Fix, "\n")
		p.Item(len("= fix: ")+len(gutter)+1, " %s = %s %s", gutter, console.Cyan.Of("fix:"), console.OneLine(ask))
		for l := range strings.Lines(lines) {
			p.Row(" %s | %s", gutter, strings.TrimRight(l, "\n"))
		}
	}
}

// masked returns the message with masked secrets.
func (d Diagnostic) masked() Diagnostic {
	d.File, d.Message, d.Fix = scan.MaskSecrets(d.File), scan.MaskSecrets(d.Message), scan.MaskSecrets(d.Fix)
	if p := d.Related; p != nil {
		d.Related = &check.Place{File: scan.MaskSecrets(p.File), Position: p.Position}
	}
	return d
}

// text returns the message and the notes, joined with between.
func (d Diagnostic) text(between string) string {
	return strings.Join(append([]string{d.Message}, d.Notes...), between)
}

func printFinding(p *console.Printer, f Finding, texts *sources) {
	d := f.diagnostic()
	ask, lines, more := strings.Cut(d.Fix, "\n")
	switch {
	case ask == "":
	case f.Fixable == check.Certain:
		ask += " (--fix does it)"
	case f.Fixable == check.Guess:
		ask += " (--fix=guess does it)"
	}
	if more {
		ask += "\n" + lines
	}
	d.Fix = ask
	source := f.Text
	if f.Skill != nil && f.Position.Line > 0 {
		source = texts.read(f.Skill.Skill, f.File, f.Skill.Data)
	}
	d.Print(p, source)
}
