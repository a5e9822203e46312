package check

import (
	"strings"
	"unicode"

	"github.com/knack-dev/knack/internal/analysis/scan"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Source contains the lines of a file for excerpts. The file is split only once, since it can have
// thousands of findings. A nil Source has no lines.
type Source struct {
	lines []string
	// The number and the characters of the most recent line are cached, since one long line can
	// have many findings.
	number int
	runes  []rune
}

// NewSource splits a file at LF, CRLF and CR. It replaces bytes that are not UTF-8 with U+FFFD, and
// the characters of secrets with asterisks.
func NewSource(data []byte) *Source {
	if len(data) == 0 {
		return &Source{}
	}
	text := scan.MaskSecrets(strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), bom))
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

// Hide replaces each line with the result of hide for its number and text.
func (s *Source) Hide(hide func(n int, text string) string) {
	for i, text := range s.lines {
		s.lines[i] = hide(i+1, text)
	}
	s.number = 0
}

// shownColumns is the maximum width of an excerpt. Lines of real skills have up to 129,733
// characters.
const shownColumns = 100

// Excerpt returns the line of a position, shortened around the token, and a mark to print below it.
// The mark has a caret below the first character of the token and tildes below the others. Excerpt
// replaces characters that a terminal would not show, or would interpret, with question marks, so
// that the mark is below the token. The text has at most room columns, or at most 100 if room is 0.
// ok is false if the line does not exist.
func (s *Source) Excerpt(at skill.Position, length, room int) (text, under string, ok bool) {
	line, ok := s.Line(at.Line)
	if !ok {
		return "", "", false
	}
	if s.number != at.Line {
		s.number, s.runes = at.Line, []rune(line)
	}
	if room <= 0 || room > shownColumns {
		room = shownColumns
	}
	text, under = window(s.runes, at.Column, max(length, 1), room)
	return text, under, true
}

func window(runes []rune, column, length, room int) (text, under string) {
	from, to := 0, len(runes)
	if len(runes) > room || display.Columns(string(runes)) > room {
		from = max(min(column-1, len(runes))-room/4, 0)
		taken := 2 // columns of the ellipses
		for to = from; to < len(runes) && taken+display.RuneColumns(runes[to]) <= room; to++ {
			taken += display.RuneColumns(runes[to])
		}
	}
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
			wide = display.RuneColumns(r)
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
		m.WriteString("^") // after the end of the line
	}
	return b.String(), m.String()
}

// styles reports whether a character is the variation selector of an emoji. A variation selector
// takes up no column.
func styles(runes []rune, i int) bool {
	before := string(runes[max(i-1, 0):i])
	return (runes[i] == 0xfe0e || runes[i] == 0xfe0f) && !display.IsHidden(before+string(runes[i:min(i+3, len(runes))]), len(before), runes[i])
}
