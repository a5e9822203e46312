package check

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// bom is the byte-order mark. It does not count as a character of its line.
const bom = "\ufeff"

// line is one line of a text, without its line ending. It is small, since a text can have a million
// lines.
type line struct {
	text string
	at   int32 // the position of its first byte; see offset
	ends uint8 // index in lineEnds
}

var lineEnds = [...]string{"", "\n", "\r", "\r\n"}

// offset returns the offset in the text at which the line begins.
func (l line) offset() int { return int(l.at) }

// end returns the line ending: LF, CR or CRLF, or "" for a last line without one.
func (l line) end() string { return lineEnds[l.ends] }

// linesOf splits a text at LF, CRLF and CR. The last line may have no line ending. A final line
// ending is not followed by an empty line.
func linesOf(text string) []line {
	out := make([]line, 0, strings.Count(text, "\n")+1)
	for at := 0; at < len(text); {
		l := line{at: int32(at), text: text[at:]}
		if i := strings.IndexAny(l.text, "\r\n"); i >= 0 {
			switch rest := l.text[i:]; {
			case rest[0] == '\n':
				l.ends = 1
			case strings.HasPrefix(rest, "\r\n"):
				l.ends = 3
			default:
				l.ends = 2
			}
			l.text = l.text[:i]
		}
		out = append(out, l)
		at += len(l.text) + len(l.end())
	}
	return out
}

// Places returns a function that converts an offset in a text into a position. The text is split
// only once.
func Places(text string) func(offset int) skill.Position {
	lines := append(linesOf(text), line{at: int32(len(text))})
	return func(offset int) skill.Position {
		n := lineAt(lines, offset)
		return skill.Position{Line: n + 1, Column: lines[n].column(offset)}
	}
}

// lineAt returns the index of the line at an offset.
func lineAt(lines []line, offset int) int {
	return max(sort.Search(len(lines), func(i int) bool { return lines[i].offset() > offset })-1, 0)
}

// column returns the column of an offset in the text, counted in characters from 1.
func (l line) column(offset int) int {
	head := l.text[:min(max(offset-l.offset(), 0), len(l.text))]
	if l.at == 0 {
		head = strings.TrimPrefix(head, bom)
	}
	return utf8.RuneCountInString(head) + 1
}

// suffix returns the part of the line from a column on.
func (l line) suffix(column int) string { return l.text[l.index(column):] }

// index returns the byte offset of a column in the line.
func (l line) index(column int) int {
	skip := 0
	if l.at == 0 && strings.HasPrefix(l.text, bom) {
		skip = len(bom)
	}
	n := 1
	for i := range l.text[skip:] {
		if n == column {
			return skip + i
		}
		n++
	}
	return len(l.text)
}
