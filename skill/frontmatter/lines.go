package frontmatter

import (
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// cutLine returns the line that begins at pos, without its line ending, and the offset of the next
// line. LF, CRLF and CR end a line, as in YAML and in editors. So positions match the lines that
// people see.
func cutLine(s string, pos int) (string, int) {
	for at := pos; at < len(s); at += lineWindow {
		part := s[at:min(at+lineWindow, len(s))]
		end := strings.IndexByte(part, '\n')
		if end >= 0 {
			part = part[:end]
		}
		if i := strings.IndexByte(part, '\r'); i >= 0 {
			end = i
		}
		switch {
		case end < 0:
		case strings.HasPrefix(s[at+end:], "\r\n"):
			return s[pos : at+end], at + end + 2
		default:
			return s[pos : at+end], at + end + 1
		}
	}
	return s[pos:], len(s)
}

// lineWindow is the number of bytes that one step searches for the end of a line. Without it, the
// search for an LF would read the whole file once for each line that ends with CR.
const lineWindow = 512

// lineEnds counts the line ends in s.
func lineEnds(s string) (n int) {
	for i := range len(s) {
		if endsLine(s, i) {
			n++
		}
	}
	return n
}

// endsLine reports whether the byte at i is the last of a line.
func endsLine(s string, i int) bool {
	return s[i] == '\n' || loneCR(s, i)
}

func loneCR(s string, i int) bool {
	return s[i] == '\r' && (i+1 == len(s) || s[i+1] != '\n')
}

// indexLoneCR returns the index of the first carriage return in s[:end] that ends a line without a
// line feed, or -1.
func indexLoneCR(s string, end int) int {
	for i := 0; i < end; i++ {
		n := strings.IndexByte(s[i:end], '\r')
		if n < 0 {
			break
		}
		if i += n; loneCR(s, i) {
			return i
		}
	}
	return -1
}

// Line returns the n-th line of a file without its line ending. It counts from 1, as [Position]
// does. It returns "" if the file has no such line.
func Line(data []byte, n int) string {
	s := display.TextOf(data)
	for pos, line := 0, 1; pos < len(s); line++ {
		text, next := cutLine(s, pos)
		if line == n {
			return strings.Clone(text)
		}
		pos = next
	}
	return ""
}

// linesOf returns all lines of a text without their ends.
func linesOf(s string) (lines []string) {
	for pos := 0; pos < len(s); {
		var text string
		text, pos = cutLine(s, pos)
		lines = append(lines, text)
	}
	return lines
}

// positionOf converts a byte offset to a position. A byte-order mark does not count as a character
// of the first line, because no editor shows it.
func positionOf(s string, offset int) Position {
	p := Position{1, 1}
	begin := 0
	if strings.HasPrefix(s, "\ufeff") && offset >= len("\ufeff") {
		begin = len("\ufeff")
	}
	for i := begin; i < offset; i++ {
		if endsLine(s, i) {
			p.Line++
			begin = i + 1
		}
	}
	p.Column = utf8.RuneCountInString(s[begin:offset]) + 1
	return p
}
