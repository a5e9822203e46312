package frontmatter

import (
	"strings"
	"unicode/utf8"
)

// Nearly all real frontmatter uses little of YAML: keys at the beginning of the line, with simple
// texts, lists and mappings. readPlain reads only these, some ten times faster than the library. It
// leaves everything else to the library, and never decides that a block is wrong. For every block
// that it reads, the library gives the same result (TestPlainReader).

// readPlain returns the result of [parseYAML] for a block without faults and notes. ok is false if
// readPlain is not sure that the block has none. The block must not contain a character that
// unsafeCharacter finds. The values are parts of the block. The fields use the memory of buf if
// that is large enough.
func readPlain(block string, buf []Field) (v Value, ok bool) {
	if block == "" || block[len(block)-1] != '\n' || strings.IndexByte(block, '\t') >= 0 || strings.IndexByte(block, '\r') >= 0 {
		return v, false
	}
	r := plainReader{rest: block, buf: buf}
	if !r.next() || r.indent != 0 {
		return v, false
	}
	if v, ok = r.mapping(0); !ok || !r.end {
		return Value{}, false
	}
	return v, true
}

// plainReader reads a block line by line. The current line is the next one to read. Blank lines
// before it are skipped and counted.
type plainReader struct {
	rest   string // after the current line
	text   string // the current line without indentation, trailing spaces and line end
	whole  string // the same with trailing spaces
	indent int
	number int  // of the current line, from 1
	blank  int  // blank lines before it
	spaced bool // a blank line has spaces
	end    bool
	depth  int
	buf    []Field // memory for the fields of the whole block
}

// next advances to the next line that is not blank. It returns false at the end.
func (r *plainReader) next() bool {
	r.blank, r.spaced = 0, false
	for r.rest != "" {
		line, rest, _ := strings.Cut(r.rest, "\n")
		r.rest = rest
		r.number++
		i := 0
		for i < len(line) && line[i] == ' ' {
			i++
		}
		if i == len(line) {
			r.blank++
			r.spaced = r.spaced || i > 0
			continue
		}
		r.indent, r.whole = i, line[i:]
		r.text = strings.TrimRight(r.whole, " ")
		return true
	}
	r.end = true
	return false
}

// position returns the position of byte i of the current line. i does not count the indentation.
func (r *plainReader) position(i int) Position {
	return Position{r.number, r.indent + utf8.RuneCountInString(r.text[:i]) + 1}
}

// mapping reads the fields with the given indentation, up to the first line with a smaller
// indentation.
func (r *plainReader) mapping(indent int) (v Value, ok bool) {
	if r.depth++; r.depth > 4 { // deeper than any real one; the library has its own bound
		return v, false
	}
	v = Value{Kind: Map, Position: r.position(0), Fields: r.buf[:0:cap(r.buf)]}
	if r.buf = nil; v.Fields == nil {
		v.Fields = make([]Field, 0, 2)
	}
	for !r.end && r.indent >= indent {
		if r.indent > indent {
			return v, false
		}
		n := plainKey(r.text)
		if n == 0 {
			return v, false
		}
		key := r.text[:n]
		if KindOf(key) != String || key == "__proto__" {
			return v, false
		}
		for i := range v.Fields {
			if v.Fields[i].Key == key {
				return v, false
			}
		}
		v.Fields = append(v.Fields, Field{Key: key, KeyPosition: r.position(0)})
		if v.Fields[len(v.Fields)-1].Value, ok = r.value(n+1, indent); !ok {
			return v, false
		}
	}
	r.depth--
	return v, true
}

// plainKey returns the length of the key at the beginning of a line. It returns 0 unless the key is
// followed by a colon, and the colon by a space or the line's end.
func plainKey(line string) int {
	i := 0
	for i < len(line) && isKeyByte(line[i]) {
		i++
	}
	if i == 0 || i > 128 || line[0] == '-' || line[0] == '.' || i == len(line) || line[i] != ':' || i+1 < len(line) && line[i+1] != ' ' {
		return 0
	}
	return i
}

func isKeyByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.'
}

// value reads a value from byte i of the current line, or on the lines below, and advances past it.
// indent is the indentation of the value's key or dash.
func (r *plainReader) value(i, indent int) (v Value, ok bool) {
	if i == len(r.text) {
		return r.below(i, indent)
	}
	for r.text[i] == ' ' {
		i++
	}
	v = Value{Kind: String, Position: r.position(i)}
	text := r.text[i:]
	n := 0
	switch text[0] {
	case '"', '\'':
		if v.Text, n, ok = quoted(text); !ok {
			v.Text, ok = r.quotedLines(text, indent)
			return v, ok && (r.end || r.indent <= indent)
		}
		r.next()
		return v, n == len(text) && (r.end || r.indent <= indent)
	case '|', '>':
		v.Text, ok = r.block(text, indent)
		return v, ok
	case '[':
		v.Kind = List
		if v.Items, ok = r.flow(i); !ok {
			return v, false
		}
		r.next()
		return v, r.end || r.indent <= indent
	}
	ok = r.plain(&v, text, indent)
	return v, ok
}

// below reads the value of a key that has no text after it. The value is a list or mapping on the
// lines below, or it is empty. An empty value has the position after the colon, at i.
func (r *plainReader) below(i, indent int) (v Value, ok bool) {
	null := Value{Kind: Null, Position: r.position(i)}
	switch {
	case !r.next() || r.indent < indent:
		return null, true
	case isItem(r.text):
		return r.list(r.indent)
	case r.indent == indent:
		return null, true
	}
	return r.mapping(r.indent)
}

func isItem(line string) bool { return line[0] == '-' && (len(line) == 1 || line[1] == ' ') }

// list reads the items with the given indentation. It accepts only plain and quoted text on one
// line each.
func (r *plainReader) list(indent int) (v Value, ok bool) {
	v = Value{Kind: List, Position: r.position(0)}
	for !r.end && r.indent == indent && isItem(r.text) {
		i := 1
		for i < len(r.text) && r.text[i] == ' ' {
			i++
		}
		if i == len(r.text) || isItem(r.text[i:]) || r.text[i] == '|' || r.text[i] == '>' {
			return v, false
		}
		item, ok := r.value(i, indent)
		if !ok {
			return v, false
		}
		v.Items = append(v.Items, item)
	}
	return v, r.end || r.indent <= indent
}

// quoted reads a text in quotes that ends on its line. It also returns the length of the text with
// its quotes.
func quoted(s string) (text string, n int, ok bool) {
	quote := s[0]
	if i := 1 + strings.IndexByte(s[1:], quote); i > 0 && strings.IndexByte(s[1:i], '\\') < 0 && (quote == '"' || i+1 == len(s) || s[i+1] != quote) {
		return s[1:i], i + 1, true // nothing is escaped, as in most texts
	}
	var b strings.Builder
	n = unquote(&b, s[1:], quote)
	return b.String(), 1 + n, n > 0
}

// unquote decodes the beginning of s up to the closing quote, and returns the offset after the
// quote. It returns 0 if there is no closing quote, and -1 if it cannot decode the text.
func unquote(b *strings.Builder, s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			b.WriteByte(quote)
			i++
		case s[i] == quote:
			return i + 1
		case s[i] == '\\' && quote == '"':
			if i++; i == len(s) {
				return -1
			}
			switch s[i] {
			case '"', '\\', '/':
				b.WriteByte(s[i])
			case 'n':
				b.WriteByte('\n')
			default:
				return -1
			}
		default:
			b.WriteByte(s[i])
		}
	}
	return 0
}

// quotedLines reads a text in quotes that continues on further lines. Nothing may follow the
// closing quote on its line. A line break becomes a space, and blank lines become line breaks.
func (r *plainReader) quotedLines(text string, indent int) (string, bool) {
	var b strings.Builder
	b.Grow(len(text) + 256)
	quote := text[0]
	n := unquote(&b, text[1:], quote)
	for n == 0 {
		if !r.next() || r.indent <= indent {
			return "", false
		}
		if r.blank == 0 {
			b.WriteByte(' ')
		}
		for range r.blank {
			b.WriteByte('\n')
		}
		if n = unquote(&b, r.text, quote); n > 0 && n != len(r.text) {
			return "", false
		}
	}
	r.next()
	return b.String(), n > 0
}

// flow reads a list in brackets on one line, from byte i of the current line.
func (r *plainReader) flow(i int) (items []Value, ok bool) {
	text := r.text
	skip := func() {
		for i < len(text) && text[i] == ' ' {
			i++
		}
	}
	i++
	if skip(); i < len(text) && text[i] == ']' {
		return nil, i+1 == len(text)
	}
	items = make([]Value, 0, min(1+strings.Count(text[i:], ","), 16)) // commas in quotes count too
	for i < len(text) {
		v := Value{Kind: String, Position: r.position(i)}
		if text[i] == '"' || text[i] == '\'' {
			n := 0
			if v.Text, n, ok = quoted(text[i:]); !ok {
				return nil, false
			}
			i += n
		} else {
			begin := i
			for i < len(text) && text[i] != ',' && text[i] != ']' {
				if strings.IndexByte("[{}#:?&*!|>'\"%@`\\", text[i]) >= 0 {
					return nil, false
				}
				i++
			}
			v.Text = strings.TrimRight(text[begin:i], " ")
			if v.Text == "" || v.Text[0] == '-' {
				return nil, false
			}
			v.Kind = KindOf(v.Text)
			if v.Kind == Number && !v.Finite() {
				return nil, false
			}
		}
		items = append(items, v)
		if skip(); i == len(text) {
			return nil, false
		}
		if text[i] == ']' {
			return items, i+1 == len(text)
		}
		if text[i] != ',' {
			return nil, false
		}
		i++
		skip()
	}
	return nil, false
}

// plain reads a text without quotes, and the lines on which it continues.
func (r *plainReader) plain(v *Value, text string, indent int) bool {
	switch c := text[0]; {
	case strings.IndexByte("{}[],#&*!|>'\"%@`?:", c) >= 0, isItem(text):
		return false
	}
	if !onlyText(text) {
		return false
	}
	v.Text = text
	if r.next(); !r.end && r.indent > indent {
		var b strings.Builder
		b.WriteString(text)
		for !r.end && r.indent > indent {
			if r.text[0] == '#' || !onlyText(r.text) {
				return false
			}
			if r.blank == 0 {
				b.WriteByte(' ')
			}
			for range r.blank {
				b.WriteByte('\n')
			}
			b.WriteString(r.text)
			r.next()
		}
		v.Text = b.String()
	}
	v.Kind = KindOf(v.Text)
	return v.Kind != Number || v.Finite()
}

// onlyText reports whether a line of plain text contains no key and no comment.
func onlyText(line string) bool {
	return line[len(line)-1] != ':' && !strings.Contains(line, ": ") && (strings.IndexByte(line, '#') < 0 || !strings.Contains(line, " #"))
}

// block reads a text after | or >. The lines of the text are indented deeper than its key.
func (r *plainReader) block(header string, indent int) (text string, ok bool) {
	strip := len(header) == 2 && header[1] == '-'
	if len(header) > 1 && !strip {
		return "", false
	}
	folded := header[0] == '>'
	if !r.next() || r.blank > 0 || r.indent <= indent {
		return "", false
	}
	deep := r.indent
	var b strings.Builder
	for first := true; !r.end && r.indent > indent; first = false {
		if r.indent < deep || folded && r.indent > deep {
			return "", false
		}
		for range r.blank {
			b.WriteByte('\n')
		}
		switch {
		case first:
		case folded && r.blank == 0:
			b.WriteByte(' ')
		case !folded:
			b.WriteByte('\n')
		}
		for range r.indent - deep {
			b.WriteByte(' ')
		}
		b.WriteString(r.whole)
		if r.next(); r.spaced {
			return "", false // spaces are significant there
		}
	}
	if !strip {
		b.WriteByte('\n')
	}
	return b.String(), true
}
