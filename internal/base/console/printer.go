package console

import (
	"fmt"
	"io"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
)

// Style is the ANSI code of a text style. The zero value changes nothing.
type Style string

// The styles. Names are bold, severities have colours, and less important text is dim.
const (
	Bold   Style = "1"
	Dim    Style = "2"
	Red    Style = "1;31"
	Yellow Style = "1;33"
	Cyan   Style = "1;36"
	// Added and Removed are the styles of lines in a diff.
	Added   Style = "32"
	Removed Style = "31"
)

// Painted is a text with a style, as a part of a line.
type Painted struct {
	text  string
	style Style
}

// Of returns a text in this style, for [Printer.Line].
func (s Style) Of(text string) Painted { return Painted{text, s} }

// Prefixes of messages on stderr, for [Printer.Text].
var (
	Error   = Red.Of("error:")
	Warning = Yellow.Of("warning:")
	Hint    = Cyan.Of("hint:")
)

// colours reports whether a stream gets colours. NO_COLOR (no-color.org) disables them;
// CLICOLOR_FORCE (bixense.com/clicolors) or FORCE_COLOR (force-color.org) enables them.
func (e *Env) colours(terminal bool) bool {
	forces := func(name string) bool {
		value := e.Variable(name)
		return value != "" && value != "0" && value != "false"
	}
	switch {
	case e.Variable("NO_COLOR") != "":
		return false
	case forces("CLICOLOR_FORCE"), forces("FORCE_COLOR"):
		return true
	}
	return terminal && !e.Plain && e.Variable("TERM") != "dumb"
}

// Printer writes lines for people, and makes their text safe for a terminal. On a terminal it adds
// colours and breaks long lines between words. In other streams it leaves lines whole, for programs
// that search them.
type Printer struct {
	env      *Env
	w        io.Writer
	terminal bool
	colour   bool
	width    int // 0 disables breaking
}

// Out returns a printer for stdout.
func (e *Env) Out() *Printer { return e.printer(e.Stdout, e.StdoutTerminal) }

// Err returns a printer for stderr.
func (e *Env) Err() *Printer { return e.printer(e.Stderr, e.StderrTerminal) }

func (e *Env) printer(w io.Writer, terminal bool) *Printer {
	p := &Printer{env: e, w: w, terminal: terminal, colour: e.colours(terminal)}
	if terminal {
		p.width = e.Width
	}
	return p
}

// Command returns a command line as [Env.Command] does.
func (p *Printer) Command(words ...string) string { return p.env.Command(words...) }

// leastRoom is the minimum number of columns for broken lines. In fewer columns, unbroken text is
// easier to read.
const leastRoom = 20

// Room returns the number of columns that are left in a line beside others columns, and at least
// leastRoom. It returns 0 if lines are not broken.
func (p *Printer) Room(others int) int {
	if p.width == 0 {
		return 0
	}
	return max(p.width-others, leastRoom)
}

// Line prints one line in the format of [fmt.Sprintf]. It replaces line ends and tabs with spaces.
// An argument may be [Painted]. If the line is broken, the further lines are indented by two more
// columns.
func (p *Printer) Line(format string, args ...any) {
	p.hang(strings.Repeat(" ", indentOf(format)+2), format, args)
}

// Item prints a line as [Printer.Line] does, but indents the lines after a break by the given
// number of columns more than the first line.
func (p *Printer) Item(columns int, format string, args ...any) {
	p.hang(strings.Repeat(" ", indentOf(format)+columns), format, args)
}

// Row is [Printer.Line] without breaking. It suits a line with a mark below a word.
func (p *Printer) Row(format string, args ...any) { p.write(p.format(format, args)) }

func indentOf(format string) int { return len(format) - len(strings.TrimLeft(format, " ")) }

func (p *Printer) hang(indent, format string, args []any) {
	text := p.format(format, args)
	if p.width < len(indent)+leastRoom {
		p.write(text)
		return
	}
	for i, line := range display.Wrap(text, p.width, p.width-len(indent)) {
		if i > 0 {
			line = indent + line
		}
		p.write(line)
	}
}

func (p *Printer) write(line string) {
	_, _ = io.WriteString(p.w, line+"\n") // [Output] records a failure
}

var blanks = strings.NewReplacer("\r", " ", "\n", " ", "\t", " ")

// format formats one line. It cleans each argument separately, so that none can add colours.
func (p *Printer) format(format string, args []any) string {
	for i, a := range args {
		style := Style("")
		if part, ok := a.(Painted); ok {
			a, style = part.text, part.style
		}
		if _, ok := a.(int); ok {
			continue
		}
		args[i] = p.paint(style, Clean(blanks.Replace(fmt.Sprint(a))))
	}
	return strings.TrimRight(fmt.Sprintf(format, args...), " ")
}

// Patch prints a diff in the unified format. It cleans and colours the diff for a terminal. To
// other streams it writes the diff byte for byte, for programs that apply it.
func (p *Printer) Patch(patch string) error {
	if p.terminal || p.colour {
		var b strings.Builder
		head := true // in the lines above the first hunk
		for line := range strings.Lines(Clean(patch)) {
			head = head && !strings.HasPrefix(line, "@@")
			text, end, _ := strings.Cut(line, "\n")
			b.WriteString(p.paint(patchStyle(line, head), text) + "\n" + end)
		}
		patch = b.String()
	}
	_, err := io.WriteString(p.w, patch)
	return err
}

// patchStyle returns the style of a line of a diff.
func patchStyle(line string, head bool) Style {
	switch {
	case head:
		return Bold
	case line[0] == '@':
		return Cyan
	case line[0] == '-':
		return Removed
	case line[0] == '+':
		return Added
	}
	return ""
}

// Dimmed prints a text, dim on a terminal. It breaks no lines, which a terminal wraps itself.
func (p *Printer) Dimmed(text string) {
	for line := range strings.Lines(Clean(text)) {
		p.write(p.paint(Dim, strings.TrimSuffix(line, "\n")))
	}
}

// paint applies a style to a text, if the printer has colours.
func (p *Printer) paint(style Style, text string) string {
	if !p.colour || style == "" || text == "" {
		return text
	}
	return "\x1b[" + string(style) + "m" + text + "\x1b[0m"
}

// Text prints a text after a prefix. It keeps the line breaks of the text.
func (p *Printer) Text(word Painted, text string) {
	columns := display.Columns(word.text) + 1
	first, rest, _ := strings.Cut(text, "\n")
	p.Item(columns, "%s %s", word, first)
	for l := range strings.Lines(rest) {
		p.Line("%s", strings.TrimRight(l, "\n"))
	}
}
