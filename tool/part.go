package tool

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// leastPart is how many bytes a part has at least, however long the names in the note
// below it are.
const leastPart = 1024

// bounds are how much of a text one answer may have.
type bounds struct{ bytes, lines int } // no lines: any number

// shown are the bounds of a text that stands below a head in an answer.
func (h habits) shown(head string) bounds {
	b := bounds{bytes: h.result - len(head)}
	if h.lines > 0 {
		b.lines = h.lines - strings.Count(head, "\n") - 1 // the last one may be without an end
	}
	return b
}

// above are the bounds of a part with a note and further lines below it.
func (b bounds) above(note string, further int) bounds {
	b.bytes = max(b.bytes-len(note)-1, leastPart)
	if b.lines > 0 {
		b.lines -= 1 + further
	}
	return b
}

// hold reports whether a text is within the bounds.
func (b bounds) hold(bytes, lines int) bool {
	return bytes <= b.bytes && (b.lines == 0 || lines <= b.lines)
}

// span is the part of a text that is asked for. Each is 0 where nothing is said.
type span struct {
	offset int // the first line, from 1
	limit  int // how many lines at most
	column int // the first character of the first line, from 1
}

// part is what one answer gives of a text.
type part struct {
	text        string
	lines       int // of the whole text
	first, last int // lines, from 1
	from, to    int // characters of the first line, from 1, where the part is of one line alone
	of          int // how many characters that line has
	next        span
	whole       bool // nothing is left out
	cut         bool // the text goes on behind the part
}

// partOf takes a part out of a text: all of it if nothing else is asked for and it is
// within the bounds of the whole, else a part within its own. A part ends at the end of
// a line; only a line that is too long for one answer is given piece by piece. The
// error says what is wrong with the span.
func partOf(text string, s span, whole, some bounds) (part, error) {
	p := part{lines: strings.Count(text, "\n"), first: max(s.offset, 1)}
	if text != "" && !strings.HasSuffix(text, "\n") {
		p.lines++
	}
	if text == "" || s == (span{}) && whole.hold(len(text), p.lines) {
		p.text, p.whole, p.last = text, true, p.lines
		return p, nil
	}
	if p.first > p.lines {
		return p, fmt.Errorf("there is no line %d; it has %s", p.first, skill.Count(p.lines, "line"))
	}
	rest := text[lineStart(text, p.first):]
	line := rest[:lineStart(rest, 2)]
	p.of = utf8.RuneCountInString(strings.TrimSuffix(line, "\n"))
	p.from = max(s.column, 1)
	if p.from > max(utf8.RuneCountInString(line), 1) { // the line's end counts
		return p, fmt.Errorf("there is no character %d in line %d; it has %s", p.from, p.first, skill.Count(p.of, "character"))
	}
	rest = rest[len(upTo(line, p.from-1)):]
	count := p.lines - p.first + 1
	if s.limit > 0 {
		count = min(count, s.limit)
	}
	if some.lines > 0 {
		count = min(count, some.lines)
	}
	p.text = rest[:lineStart(rest, count+1)]
	if len(p.text) > some.bytes {
		p.text = p.text[:strings.LastIndexByte(p.text[:some.bytes], '\n')+1]
	}
	if p.text == "" && rest != "" { // not one whole line
		end := some.bytes
		for end > 0 && !utf8.RuneStart(rest[end]) {
			end--
		}
		p.text = rest[:end]
		p.last, p.to = p.first, p.from+utf8.RuneCountInString(p.text)-1
		p.cut, p.next = true, span{p.first, s.limit, p.to + 1}
		return p, nil
	}
	p.last = p.first + strings.Count(strings.TrimSuffix(p.text, "\n"), "\n")
	p.to = p.of
	p.cut, p.next = len(p.text) < len(rest), span{offset: p.last + 1, limit: s.limit}
	return p, nil
}

// lineStart is where the n-th line of a text begins, from 1; the text's end where it
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

// longestNote is a note of the greatest length that one can have.
func longestNote(h habits, name, file string) string {
	const n = math.MaxInt32
	return part{lines: n, first: n, last: n, from: n, to: n, of: n, cut: true, next: span{n, n, n}}.note(h, name, file, n)
}

// note says in one line which part of the file this is, how long the file is, and the
// exact call that goes on. It is empty for the whole file.
func (p part) note(h habits, name, file string, size int) string {
	if p.whole {
		return ""
	}
	of := fmt.Sprintf(" of %d of '%s' (%d bytes)", p.lines, skill.Echo(file), size)
	var s string
	switch {
	case p.first < p.last && p.from > 1:
		s = fmt.Sprintf("[Lines %d (from character %d) to %d%s.", p.first, p.from, p.last, of)
	case p.first < p.last:
		s = fmt.Sprintf("[Lines %d to %d%s.", p.first, p.last, of)
	case p.from > 1 || p.to < p.of:
		s = fmt.Sprintf("[Line %d%s, characters %d to %d of %d.", p.first, of, p.from, p.to, p.of)
	default:
		s = fmt.Sprintf("[Line %d%s.", p.first, of)
	}
	if !p.cut {
		return s + " It ends here.]"
	}
	call := `{"skill_name": ` + string(skill.AppendJSONString(nil, name)) + `, "file_path": ` + string(skill.AppendJSONString(nil, file))
	call += fmt.Sprintf(`, "offset": %d`, p.next.offset)
	if p.next.column > 0 {
		call += fmt.Sprintf(`, "column": %d`, p.next.column)
	}
	if p.next.limit > 0 {
		call += fmt.Sprintf(`, "limit": %d`, p.next.limit)
	}
	return s + " To read on: " + h.tool("read_file_in_skill") + " " + call + "}]"
}

// withNote puts the note below the part, in a line of its own.
func (p part) withNote(note string) string {
	if note == "" {
		return p.text
	}
	if p.text == "" || strings.HasSuffix(p.text, "\n") {
		return p.text + note
	}
	return p.text + "\n" + note
}
