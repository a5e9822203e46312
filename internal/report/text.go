package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

var severityColours = map[skill.Severity]string{
	skill.SeverityError: "1;31", skill.SeverityWarning: "1;33", skill.SeverityInfo: "1;36",
}

func printText(env *console.Env, run *Run) error {
	var b strings.Builder
	hidden := 0
	for _, f := range run.Findings {
		if f.Severity == skill.SeverityInfo && !run.Infos {
			hidden++
			continue
		}
		writeFinding(env, &b, f)
	}
	fmt.Fprintf(&b, "%s: %s, %s", display.Count(len(run.Skills), "skill"),
		display.Count(run.Count(skill.SeverityError), "error"), display.Count(run.Count(skill.SeverityWarning), "warning"))
	if n := run.fixable(check.Certain); n > 0 {
		fmt.Fprintf(&b, "; --fix corrects %d", n)
	}
	if n := run.fixable(check.Guess); n > 0 {
		fmt.Fprintf(&b, "; --fix=guess corrects %d more", n)
	}
	if n := run.Silenced; n > 0 {
		fmt.Fprintf(&b, "; %s left out by %s", display.Count(n, "finding"), console.Clean(run.Files()))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "; --info shows %d more", hidden)
	}
	b.WriteString("\n")
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}

// Diagnostic is a message about a position in a file.
type Diagnostic struct {
	File     string // as it is shown
	Severity skill.Severity
	Rule     skill.RuleID
	At       skill.Position
	Length   int // of the token, in characters
	Message  string
	Fix      string // further lines are text to write into the file
}

// Write prints it like a compiler: position, message, the line with a mark under the token,
// and the fix. Without the file's text it omits the line.
func (p Diagnostic) Write(env *console.Env, b *strings.Builder, source *check.Source) {
	where := p.File
	if p.At.Line > 0 {
		where += ":" + p.At.String()
	}
	fmt.Fprintf(b, "%s: %s: %s [%s]\n", console.Paint(env, "1", console.OneLine(where)),
		console.Paint(env, severityColours[p.Severity], string(p.Severity)), console.OneLine(p.Message), p.Rule)
	gutter := ""
	if text, mark, ok := source.Excerpt(p.At, p.Length); ok {
		number := fmt.Sprint(p.At.Line)
		gutter = strings.Repeat(" ", len(number))
		fmt.Fprintf(b, " %s | %s\n %s | %s\n", number, text, gutter, console.Paint(env, severityColours[p.Severity], mark))
	}
	if p.Fix != "" {
		ask, lines, _ := strings.Cut(p.Fix, "\n")
		fmt.Fprintf(b, " %s = fix: %s\n", gutter, console.OneLine(ask))
		for l := range strings.Lines(lines) {
			fmt.Fprintf(b, " %s | %s\n", gutter, console.Clean(strings.TrimRight(l, "\n")))
		}
	}
}

func writeFinding(env *console.Env, b *strings.Builder, f Finding) {
	ask, lines, more := strings.Cut(f.Fix, "\n")
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
	var source *check.Source
	if f.Skill != nil && f.File == f.Skill.Skill.Entry {
		source = f.Skill.Source
	}
	Diagnostic{f.Shown, f.Severity, f.Rule, f.Position, f.Length, f.Message, ask}.Write(env, b, source)
}
