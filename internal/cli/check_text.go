package cli

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

func printCheckText(env *console.Env, run *checkRun, flags *checkFlags) error {
	var b strings.Builder
	hidden := 0
	for _, f := range run.findings {
		if f.Severity == skill.SeverityInfo && !flags.info {
			hidden++
			continue
		}
		writeFinding(env, &b, f)
	}
	fmt.Fprintf(&b, "%s: %s, %s", display.Count(len(run.skills), "skill"),
		display.Count(run.count(skill.SeverityError), "error"), display.Count(run.count(skill.SeverityWarning), "warning"))
	if n := run.fixable(check.Certain); n > 0 {
		fmt.Fprintf(&b, "; --fix corrects %d", n)
	}
	if n := run.fixable(check.Guess); n > 0 {
		fmt.Fprintf(&b, "; --fix=guess corrects %d more", n)
	}
	if n := run.silenced; n > 0 {
		fmt.Fprintf(&b, "; %s left out by %s", display.Count(n, "finding"), console.Clean(run.files()))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "; --info shows %d more", hidden)
	}
	b.WriteString("\n")
	_, err := io.WriteString(env.Stdout, b.String())
	return err
}

func (r *checkRun) fixable(level check.Level) (n int) {
	for _, f := range r.findings {
		if f.Fixable == level {
			n++
		}
	}
	return n
}

// diagnostic is a message about a position in a file.
type diagnostic struct {
	file     string
	severity skill.Severity
	rule     skill.RuleID
	at       skill.Position
	length   int
	message  string
	fix      string
}

// write prints it like a compiler: position, message, the line with a mark under the token,
// and the fix. Without the file's text it omits the line.
func (p diagnostic) write(env *console.Env, b *strings.Builder, source *check.Source) {
	where := p.file
	if p.at.Line > 0 {
		where += ":" + p.at.String()
	}
	fmt.Fprintf(b, "%s: %s: %s [%s]\n", console.Paint(env, "1", console.OneLine(where)),
		console.Paint(env, severityColours[p.severity], string(p.severity)), console.OneLine(p.message), p.rule)
	gutter := ""
	if text, mark, ok := source.Excerpt(p.at, p.length); ok {
		number := fmt.Sprint(p.at.Line)
		gutter = strings.Repeat(" ", len(number))
		fmt.Fprintf(b, " %s | %s\n %s | %s\n", number, text, gutter, console.Paint(env, severityColours[p.severity], mark))
	}
	if p.fix != "" {
		ask, lines, _ := strings.Cut(p.fix, "\n")
		fmt.Fprintf(b, " %s = fix: %s\n", gutter, console.OneLine(ask))
		for l := range strings.Lines(lines) {
			fmt.Fprintf(b, " %s | %s\n", gutter, console.Clean(strings.TrimRight(l, "\n")))
		}
	}
}

func writeFinding(env *console.Env, b *strings.Builder, f checkedFinding) {
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
	if f.skill != nil && f.File == f.skill.Skill.Entry {
		source = f.skill.source
	}
	diagnostic{f.shown, f.Severity, f.Rule, f.Position, f.Length, f.Message, ask}.write(env, b, source)
}
