package cli

import "strings"

// sourceText is a file as the lines that people are shown, made once: looking for
// each line from the beginning would take as long as the square of the findings.
type sourceText struct {
	lines []string
	// The characters of the line that was asked for last: many findings may stand in
	// one long line.
	number int
	runes  []rune
}

// newSourceText cuts a file at LF, CRLF and CR. What is not UTF-8 is shown as such.
func newSourceText(data []byte) *sourceText {
	if len(data) == 0 {
		return &sourceText{}
	}
	text := strings.TrimPrefix(strings.ToValidUTF8(string(data), "\ufffd"), "\ufeff")
	if strings.ContainsRune(text, '\r') {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return &sourceText{lines: strings.Split(text, "\n")}
}

// line is a line by its number, from 1.
func (s *sourceText) line(n int) (string, bool) {
	if s == nil || n < 1 || n > len(s.lines) {
		return "", false
	}
	return s.lines[n-1], true
}

// characters are those of a line.
func (s *sourceText) characters(n int) ([]rune, bool) {
	text, ok := s.line(n)
	if !ok {
		return nil, false
	}
	if s.number != n {
		s.number, s.runes = n, []rune(text)
	}
	return s.runes, true
}
