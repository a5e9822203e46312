package check

import (
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// Source holds the lines of a file for excerpts. It splits the file once, because a file
// can have thousands of findings. A nil Source has no lines.
type Source struct {
	lines []string
	// The characters of the most recent line: many findings can be in one long line.
	number int
	runes  []rune
}

// NewSource splits a file at LF, CRLF and CR. Bytes that are not UTF-8 become U+FFFD.
func NewSource(data []byte) *Source {
	if len(data) == 0 {
		return &Source{}
	}
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), bom)
	if strings.ContainsRune(text, '\r') {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return &Source{lines: strings.Split(text, "\n")}
}

// Line returns a line by its number, counted from 1.
func (s *Source) Line(n int) (string, bool) {
	if s == nil || n < 1 || n > len(s.lines) {
		return "", false
	}
	return s.lines[n-1], true
}

// Hide replaces each line by the result of hide for its number and text.
func (s *Source) Hide(hide func(n int, text string) string) {
	for i, text := range s.lines {
		s.lines[i] = hide(i+1, text)
	}
	s.number = 0
}

// shownColumns is how much of a line is shown around a token: lines of real skills
// have up to 129,733 characters.
const shownColumns = 100

// Excerpt returns the line of a position, shortened to the text around the token, and a
// mark to print below it: a caret at the token's first character, tildes under the rest.
// Characters that a terminal would not show, or would interpret, become question marks, so
// that the mark is below the token. ok is false if there is no such line.
func (s *Source) Excerpt(at skill.Position, length int) (text, under string, ok bool) {
	line, ok := s.Line(at.Line)
	if !ok {
		return "", "", false
	}
	if s.number != at.Line {
		s.number, s.runes = at.Line, []rune(line)
	}
	text, under = window(s.runes, at.Column, max(length, 1))
	return text, under, true
}

func window(runes []rune, column, length int) (text, under string) {
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
		case unicode.IsControl(r) || display.IsUnseen(r) && !styles(runes, i):
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

// styles reports whether a character is the variation selector of an emoji, which takes no
// column.
func styles(runes []rune, i int) bool {
	before := string(runes[max(i-1, 0):i])
	return columns(runes[i]) == 0 && !display.IsHidden(before+string(runes[i:min(i+3, len(runes))]), len(before), runes[i])
}

// columns returns the number of terminal columns of a character: two for East Asian
// characters and pictures, by their blocks, none for combining characters.
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
