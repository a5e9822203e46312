package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/skill"
)

// shownColumns is how much of a source line is shown around a token: lines of
// real skills have up to 129,733 characters.
const shownColumns = 100

// paint gives text a colour, where a person looks at a terminal and did not ask
// for none (no-color.org).
func paint(env *Env, code, text string) string {
	if !env.StdoutTerminal || env.Getenv("NO_COLOR") != "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

var severityColours = map[skill.Severity]string{
	skill.SeverityError: "1;31", skill.SeverityWarning: "1;33", skill.SeverityInfo: "1;36",
}

func printCheckText(env *Env, run *checkRun, flags *checkFlags) error {
	var b strings.Builder
	hidden := 0
	for _, f := range run.findings {
		if f.Severity == skill.SeverityInfo && !flags.info {
			hidden++
			continue
		}
		writeFinding(env, &b, f)
	}
	fmt.Fprintf(&b, "%s: %s, %s", skill.Count(len(run.skills), "skill"),
		skill.Count(run.count(skill.SeverityError), "error"), skill.Count(run.count(skill.SeverityWarning), "warning"))
	if n := run.fixable(check.Certain); n > 0 {
		fmt.Fprintf(&b, "; --fix mends %d", n)
	}
	if n := run.fixable(check.Guess); n > 0 {
		fmt.Fprintf(&b, "; --fix=guess mends %d more", n)
	}
	if n := run.silenced; n > 0 {
		fmt.Fprintf(&b, "; %s left out by %s", skill.Count(n, "finding"), clean(run.files()))
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
		if f.Fix == level {
			n++
		}
	}
	return n
}

// placed is something to say about a place in a file.
type placed struct {
	file     string
	severity skill.Severity
	rule     skill.RuleID
	at       skill.Position
	length   int
	message  string
	mend     string
}

// write writes it as compilers do: where, what, the line with a mark under the
// token, and what to do. Without the file's text there is no line.
func (p placed) write(env *Env, b *strings.Builder, source *sourceText) {
	where := p.file
	if p.at.Line > 0 {
		where += ":" + p.at.String()
	}
	fmt.Fprintf(b, "%s: %s: %s [%s]\n", paint(env, "1", oneLine(where)),
		paint(env, severityColours[p.severity], string(p.severity)), oneLine(p.message), p.rule)
	gutter := ""
	if runes, ok := source.characters(p.at.Line); ok {
		text, mark := window(runes, p.at.Column, max(p.length, 1))
		number := fmt.Sprint(p.at.Line)
		gutter = strings.Repeat(" ", len(number))
		fmt.Fprintf(b, " %s | %s\n %s | %s\n", number, text, gutter, paint(env, severityColours[p.severity], mark))
	}
	if p.mend != "" {
		ask, lines, _ := strings.Cut(p.mend, "\n")
		fmt.Fprintf(b, " %s = mend: %s\n", gutter, oneLine(ask))
		for l := range strings.Lines(lines) {
			fmt.Fprintf(b, " %s | %s\n", gutter, clean(strings.TrimRight(l, "\n")))
		}
	}
}

func writeFinding(env *Env, b *strings.Builder, f checkedFinding) {
	ask, lines, more := strings.Cut(f.Mend, "\n")
	switch {
	case ask == "":
	case f.Fix == check.Certain:
		ask += " (--fix does it)"
	case f.Fix == check.Guess:
		ask += " (--fix=guess does it)"
	}
	if more {
		ask += "\n" + lines
	}
	var source *sourceText
	if f.skill != nil && f.File == f.skill.Skill.Entry {
		source = f.skill.source
	}
	placed{f.shown, f.Severity, f.Rule, f.Position, f.Length, f.Message, ask}.write(env, b, source)
}

func oneLine(s string) string { return clean(skill.OneLine(s)) }

// window cuts a line to what is around the token, and makes the mark that goes
// under it. What a terminal would not show, or obey, is shown as a question mark,
// so that the mark stands where the token does.
func window(runes []rune, column, length int) (shown, mark string) {
	from := max(min(column-1, len(runes))-shownColumns/4, 0)
	if len(runes) <= shownColumns {
		from = 0
	}
	to := min(from+shownColumns, len(runes))
	var b, m strings.Builder
	if from > 0 {
		b.WriteString("…")
		m.WriteString(" ")
	}
	for i := from; i < to; i++ {
		r := runes[i]
		wide := 1
		switch {
		case r == '\t':
			r = ' '
		case isUnseen(r):
			r = '?'
		default:
			wide = columns(r)
		}
		b.WriteRune(r)
		switch at := i + 1; {
		case at < column:
			m.WriteString(strings.Repeat(" ", wide))
		case at == column:
			m.WriteString("^" + strings.Repeat("~", max(wide-1, 0)))
		case at < column+length:
			m.WriteString(strings.Repeat("~", wide))
		}
	}
	if to < len(runes) {
		b.WriteString("…")
	}
	if column > to {
		m.WriteString("^") // behind the line's end
	}
	return b.String(), m.String()
}

// columns is how many columns a terminal gives a character: two to those of East
// Asia and to pictures, by the blocks in which they lie, none to what combines.
func columns(r rune) int {
	switch {
	case r >= 0x300 && r <= 0x36f || r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf && r != 0x303f, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f, r >= 0xff00 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6,
		r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
