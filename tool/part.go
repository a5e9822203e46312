package tool

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/profile"
)

// minPart is the smallest size of a part, even if long names make the note below it long.
const minPart = 1024

// bounds limits the part of a text in one answer.
type bounds struct {
	size  int // in units
	unit  profile.Unit
	lines int // 0 for any number
}

// boundsBelow returns the bounds of a text that follows head in an answer, for a client.
func boundsBelow(client profile.Profile, head string) bounds {
	b := bounds{size: client.Result - client.ResultUnit.Length(head), unit: client.ResultUnit}
	if client.Lines > 0 {
		b.lines = client.Lines - strings.Count(head, "\n") - 1 // the last line may have no line end
	}
	return b
}

// above returns the bounds of a part that is followed by a note and further lines.
func (b bounds) above(note string, further int) bounds {
	b.size = max(b.size-b.unit.Length("\n"+note), minPart)
	if b.lines > 0 {
		b.lines -= 1 + further
	}
	return b
}

// contain reports whether a text with the given number of lines is within the bounds.
func (b bounds) contain(text string, lines int) bool {
	return b.holds(text) && (b.lines == 0 || lines <= b.lines)
}

// holds reports whether a text is no longer than the bounds.
func (b bounds) holds(text string) bool { return len(b.unit.Prefix(text, b.size)) == len(text) }

// span is the requested part of a text. A field is 0 if it is not given.
type span struct {
	offset int // the first line, from 1
	limit  int // the largest number of lines
	column int // the first character of the first line, from 1
}

// part is the part of a text in one answer.
type part struct {
	text        string
	lines       int // of the whole text
	first, last int // lines, from 1
	from, to    int // characters of the first line, from 1, if the part is within one line
	lineLength  int // the length of the line from and to refer to, in characters
	next        span
	whole       bool // nothing is left out
	cut         bool // the text continues after the part
}

// partOf returns the requested part of a text. Without a span it returns the whole text if that is
// within the bounds whole, or else a part within the bounds some. A part ends at a line end. Only a
// line that is too long for one answer is split. The error explains a wrong span.
func partOf(text string, s span, whole, some bounds) (part, error) {
	p := part{lines: strings.Count(text, "\n"), first: max(s.offset, 1)}
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.lines++
	}
	if text == "" || s == (span{}) && whole.contain(text, p.lines) {
		p.text, p.whole, p.last = text, true, p.lines
		return p, nil
	}
	if p.first > p.lines {
		return p, fmt.Errorf("there is no line %d; it has %s", p.first, display.Count(p.lines, "line"))
	}
	rest := text[lineStart(text, p.first):]
	line := rest[:lineStart(rest, 2)]
	p.lineLength = utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
	p.from = max(s.column, 1)
	if p.from > max(utf8.RuneCountInString(line), 1) { // the line end counts as a character
		return p, fmt.Errorf("there is no character %d in line %d; it has %s", p.from, p.first, display.Count(p.lineLength, "character"))
	}
	rest = rest[len(display.Prefix(line, p.from-1)):]
	count := p.lines - p.first + 1
	if s.limit > 0 {
		count = min(count, s.limit)
	}
	if some.lines > 0 {
		count = min(count, some.lines)
	}
	p.text = rest[:lineStart(rest, count+1)]
	if !some.holds(p.text) {
		p.text = p.text[:strings.LastIndexByte(some.unit.Prefix(p.text, some.size), '\n')+1]
	}
	if p.text == "" && rest != "" { // not even one line fits
		p.text = some.unit.Prefix(rest, some.size)
		p.last, p.to = p.first, p.from+utf8.RuneCountInString(p.text)-1
		p.cut, p.next = true, span{p.first, s.limit, p.to + 1}
		return p, nil
	}
	p.last = p.first + strings.Count(strings.TrimSuffix(p.text, "\n"), "\n")
	p.to = p.lineLength
	p.cut, p.next = len(p.text) < len(rest), span{offset: p.last + 1, limit: s.limit}
	return p, nil
}

// lineStart returns the offset of the n-th line of a text, from 1, or the text's end if it
// has fewer.
func lineStart(text string, n int) int {
	at := 0
	for ; n > 1; n-- {
		i := strings.IndexByte(text[at:], '\n')
		if i < 0 {
			return len(text)
		}
		at += i + 1
	}
	return at
}

// longestNote returns a note of the maximum length.
func longestNote(client profile.Profile, name, file string) string {
	const n = math.MaxInt32
	return part{lines: n, first: n, last: n, from: n, to: n, lineLength: n, cut: true, next: span{n, n, n}}.note(client, name, file, n)
}

// note returns a line with the position of the part, the length of the file, and the exact call
// that reads the next part. It is empty for the whole file.
func (p part) note(client profile.Profile, name, file string, size int) string {
	if p.whole {
		return ""
	}
	total := fmt.Sprintf(" of %d of '%s' (%d bytes)", p.lines, display.Echo(file), size)
	var s string
	switch {
	case p.first < p.last && p.from > 1:
		s = fmt.Sprintf("[Lines %d (from character %d) to %d%s.", p.first, p.from, p.last, total)
	case p.first < p.last:
		s = fmt.Sprintf("[Lines %d to %d%s.", p.first, p.last, total)
	case p.from > 1 || p.to < p.lineLength:
		s = fmt.Sprintf("[Line %d%s, characters %d to %d of %d.", p.first, total, p.from, p.to, p.lineLength)
	default:
		s = fmt.Sprintf("[Line %d%s.", p.first, total)
	}
	if !p.cut {
		return s + " It ends here.]"
	}
	call := `{"skill_name": ` + string(display.AppendJSONString(nil, name)) + `, "file_path": ` + string(display.AppendJSONString(nil, file))
	call += fmt.Sprintf(`, "offset": %d`, p.next.offset)
	if p.next.column > 0 {
		call += fmt.Sprintf(`, "column": %d`, p.next.column)
	}
	if p.next.limit > 0 {
		call += fmt.Sprintf(`, "limit": %d`, p.next.limit)
	}
	return s + " To read on: " + client.ToolName("read_file_in_skill") + " " + call + "}]"
}

// withNote adds the note below the part, on a line of its own.
func (p part) withNote(note string) string {
	if note == "" {
		return p.text
	}
	if p.text == "" || strings.HasSuffix(p.text, "\n") {
		return p.text + note
	}
	return p.text + "\n" + note
}
