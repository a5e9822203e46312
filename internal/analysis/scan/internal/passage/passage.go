// Package passage maps texts to their positions in a file. It also defines the rules and facts that
// the readers of a scan report.
package passage

import (
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/skill"
)

// File is a file of the skill or an entry of an archive, as text.
type File struct {
	Path string // "a.zip!b/c.sh" for an entry
	Text string
	// ended has, for each block of the text, the number of lines that end before the block. It is
	// built at the first use. last is the last located offset.
	ended []int
	last  position
}

// blockSize is the size in bytes of the blocks for which ended counts the lines.
const blockSize = 64 << 10

// position is an offset in a file, with its column. In a long line, the column of the next finding
// is counted from this position.
type position struct{ offset, column int }

// Whole returns the file as a part.
func (f *File) Whole() Part { return Part{File: f, Text: f.Text, spans: []span{{0, 0}}} }

// blocks returns the number of line ends before each block.
func (f *File) blocks() []int {
	if f.ended == nil {
		f.ended = make([]int, 1, 1+len(f.Text)/blockSize)
		for at := blockSize; at < len(f.Text); at += blockSize {
			f.ended = append(f.ended, f.ended[len(f.ended)-1]+strings.Count(f.Text[at-blockSize:at], "\n"))
		}
	}
	return f.ended
}

// Position returns the line and column of the offset from. Its second result is the number of
// characters up to the offset to, or up to the end of the line.
func (f *File) Position(from, to int) (skill.Position, int) {
	block := min(from/blockSize, len(f.blocks())-1)
	line := f.ended[block] + strings.Count(f.Text[block*blockSize:from], "\n")
	f.last = f.locate(from)
	end := max(from, min(to, len(f.Text)))
	if n := strings.IndexByte(f.Text[from:end], '\n'); n >= 0 {
		end = from + n
	}
	return skill.Position{Line: line + 1, Column: f.last.column}, max(utf8.RuneCountInString(f.Text[from:end]), 1)
}

// locate returns the position of an offset. It counts from the last located position, unless that
// position is after the offset.
func (f *File) locate(at int) position {
	start := position{column: 1}
	if f.last.offset <= at && f.last.column > 0 {
		start = f.last
	}
	if n := strings.LastIndexByte(f.Text[start.offset:at], '\n'); n >= 0 {
		start = position{offset: start.offset + n + 1, column: 1}
	}
	return position{offset: at, column: start.column + utf8.RuneCountInString(f.Text[start.offset:at])}
}

// Offset returns the offset of a position, or 0 if the file has no such line.
func (f *File) Offset(at skill.Position) int {
	if at.Line < 1 {
		return 0
	}
	block := sort.Search(len(f.blocks()), func(i int) bool { return f.ended[i] >= at.Line-1 }) - 1
	from, line := 0, 1
	if block >= 0 {
		from, line = block*blockSize, f.ended[block]+1
	}
	for ; line < at.Line; line++ {
		n := strings.IndexByte(f.Text[from:], '\n')
		if n < 0 {
			return 0
		}
		from += n + 1
	}
	for range at.Column - 1 {
		_, n := utf8.DecodeRuneInString(f.Text[from:])
		from += n
	}
	return from
}

// Part is a text that a reader judges: a whole file, or a part of it, such as a block of code.
type Part struct {
	File  *File
	Text  string
	Depth int    // how often it was decoded
	Nest  int    // how often it was a string that another program runs
	spans []span // map the text to the file, in order
}

// span maps an offset of the text to an offset of the file.
type span struct{ from, at int }

// Slice returns the bytes of the part between two offsets as a part.
func (p Part) Slice(from, to int) Part {
	out := Part{File: p.File, Text: p.Text[from:to], Depth: p.Depth, Nest: p.Nest}
	if p.anchored() {
		out.spans = p.spans
		return out
	}
	for i, sp := range p.spans {
		end := len(p.Text)
		if i+1 < len(p.spans) {
			end = p.spans[i+1].from
		}
		if end <= from || sp.from >= to {
			continue
		}
		start := max(sp.from, from)
		out.spans = append(out.spans, span{start - from, sp.at + start - sp.from})
	}
	return out
}

// With returns a part with a text that is derived from the bytes at an offset of p. All findings in
// the new text have the position of that offset.
func (p Part) With(text string, at int) Part {
	place := p.Offset(at)
	p.Text = text
	p.spans = []span{{0, place}, {0, place}} // two equal spans mark an anchored part, in which no byte has a position of its own
	return p
}

// Decoded is like [Part.With] for a decoded text. It also increments the depth of the part.
func (p Part) Decoded(text string, at int) Part {
	p = p.With(text, at)
	p.Depth++
	return p
}

// anchored reports whether the whole part maps to one offset of the file; see [Part.With].
func (p Part) anchored() bool { return len(p.spans) == 2 && p.spans[0] == p.spans[1] }

// Offset returns the offset in the file of a byte of the part.
func (p Part) Offset(at int) int {
	if p.anchored() {
		return p.spans[0].at
	}
	i := sort.Search(len(p.spans), func(i int) bool { return p.spans[i].from > at }) - 1
	if i < 0 {
		return 0
	}
	return min(p.spans[i].at+at-p.spans[i].from, len(p.File.Text))
}

// Place returns the position of a range of the part in the file, and its length in characters.
func (p Part) Place(from, to int) (skill.Position, int) {
	lo := p.Offset(from)
	hi := lo
	if to > from {
		hi = p.Offset(to-1) + 1
	}
	return p.File.Position(lo, hi)
}

// Around returns a range as written in the file, with the words around it. It does not use the
// rendered text: a secret might not be recognised there, since the marks of Markdown are missing.
func (p Part) Around(from, to int) string {
	lo, hi := p.Offset(from), p.Offset(max(to-1, from))+1
	if p.anchored() || lo >= hi {
		return around(p.Text, from, to)
	}
	return around(p.File.Text, lo, hi)
}

// around returns a range with the words around it on the same line. It does not cut a word, since a
// part of a secret would not be recognised.
func around(text string, begin, end int) string {
	const room, blank = 60, " \t\r\n"
	from, to := max(0, begin-room/2), min(len(text), end+room)
	if n := strings.LastIndexByte(text[from:begin], '\n'); n >= 0 {
		from += n + 1
	} else if n := strings.IndexAny(text[from:begin], blank); from > 0 && n >= 0 {
		from += n
	} else if from > 0 {
		from = begin
	}
	if n := strings.IndexByte(text[end:to], '\n'); n >= 0 {
		to = end + n
	} else if n := strings.LastIndexAny(text[end:to], blank); to < len(text) && n >= 0 {
		to = end + n
	} else if to < len(text) {
		to = end
	}
	return strings.TrimSpace(text[from:to])
}

// Copy is a text assembled from parts of a file.
type Copy struct {
	text  strings.Builder
	spans []span
}

// Len returns the number of copied bytes.
func (c *Copy) Len() int { return c.text.Len() }

// Add copies a range of a part. It splits the range at line ends, since the spans of a part begin
// only at lines.
func (c *Copy) Add(p Part, from, to int) {
	if len(p.spans) == 1 {
		c.Write(p.Text[from:to], p.Offset(from))
		return
	}
	for line := range strings.Lines(p.Text[from:to]) {
		c.Write(line, p.Offset(from))
		from += len(line)
	}
}

// Write appends a text that is at an offset of the file.
func (c *Copy) Write(text string, at int) {
	n := len(c.spans)
	if n == 0 || c.spans[n-1].at+c.text.Len()-c.spans[n-1].from != at {
		c.spans = append(c.spans, span{c.text.Len(), at})
	}
	c.text.WriteString(text)
}

// Part returns the copied text as a part of the same file as p, and resets c.
func (c *Copy) Part(p Part) Part {
	out := Part{File: p.File, Text: c.text.String(), spans: c.spans, Depth: p.Depth}
	*c = Copy{}
	return out
}
