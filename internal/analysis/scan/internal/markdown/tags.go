package markdown

import (
	"html"
	"strings"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/words"
)

// piece is a piece of HTML: a text, a comment or a tag.
type piece struct {
	kind       pieceKind
	size       int    // in bytes
	name       string // of a tag, in lower case
	attributes []attribute
	closed     bool // a comment has its end, or a tag closes itself
}

type pieceKind int

const (
	textPiece pieceKind = iota
	comment             // or a different construct that is not a tag: a doctype or an instruction
	startTag
	endTag
)

type attribute struct{ key, value string }

// rawElements lists the elements whose content is plain text. Only their own end tag ends it.
var rawElements = words.Set{Rows: "script style textarea title xmp iframe noembed noframes"}

// pieces splits HTML like a browser (WHATWG HTML, 13.2.5). It does not use golang.org/x/net/html,
// since the tables of that package would take 113 KB at each start of knack.
type pieces struct {
	rest string
	raw  string // the raw element whose content comes next, or ""
}

// next returns the next piece. The piece has size 0 at the end of the text.
func (s *pieces) next() piece {
	p := s.read()
	s.rest = s.rest[p.size:]
	if s.raw = ""; p.kind == startTag && !p.closed && rawElements.Has(p.name) {
		s.raw = p.name
	}
	return p
}

func (s *pieces) read() piece {
	text := s.rest
	if s.raw != "" {
		if n := endOf(text, s.raw); n > 0 {
			return piece{size: n}
		}
	}
	if len(text) < 2 || text[0] != '<' {
		return piece{size: textSize(text, 0)}
	}
	switch c := text[1]; {
	case strings.HasPrefix(text, "<!--"):
		return commentAtStart(text)
	case c == '!' || c == '?' || c == '/' && len(text) > 2 && !isLetter(text[2]):
		if n := strings.IndexByte(text, '>'); n >= 0 {
			return piece{kind: comment, size: n + 1, closed: true}
		}
		return piece{kind: comment, size: len(text)}
	case c == '/' && len(text) > 2:
		if p, ok := tag(text, 2); ok {
			p.kind = endTag
			return p
		}
		return piece{size: len(text)} // a tag without an end is text
	case isLetter(c):
		if p, ok := tag(text, 1); ok {
			return p
		}
		return piece{size: len(text)}
	}
	return piece{size: textSize(text, 1)}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// textSize returns the length of the text before the next "<" that can begin a tag or a comment.
func textSize(text string, from int) int {
	for from < len(text) {
		n := strings.IndexByte(text[from:], '<')
		if n < 0 {
			break
		}
		if from += n; from+1 < len(text) && (isLetter(text[from+1]) || strings.IndexByte("!?/", text[from+1]) >= 0) {
			return from
		}
		from++
	}
	return len(text)
}

// endOf returns the offset of the end tag of a raw element, or the length of the text.
func endOf(text, name string) int {
	for from := 0; ; {
		n := strings.Index(text[from:], "</")
		if n < 0 {
			return len(text)
		}
		from += n
		if rest := text[from+2:]; len(rest) >= len(name) && strings.EqualFold(rest[:len(name)], name) {
			if len(rest) == len(name) || strings.IndexByte(" \t\r\n\f/>", rest[len(name)]) >= 0 {
				return from
			}
		}
		from += 2
	}
}

// commentAtStart returns the comment at the beginning of a text.
func commentAtStart(text string) piece {
	for _, empty := range [...]string{"<!-->", "<!--->"} {
		if strings.HasPrefix(text, empty) {
			return piece{kind: comment, size: len(empty), closed: true}
		}
	}
	const begin = len("<!--")
	size := len(text)
	for _, end := range [...]string{"-->", "--!>"} {
		if n := strings.Index(text[begin:min(size, len(text))], end); n >= 0 {
			size = begin + n + len(end)
		}
	}
	return piece{kind: comment, size: size, closed: strings.HasSuffix(text[:size], "-->") || strings.HasSuffix(text[:size], "--!>")}
}

const blanks = " \t\r\n\f"

// tag reads a start tag or an end tag whose name begins at an offset.
func tag(text string, at int) (p piece, ok bool) {
	n := strings.IndexAny(text[at:], blanks+"/>")
	if n < 0 {
		return piece{}, false
	}
	p = piece{kind: startTag, name: strings.ToLower(text[at : at+n])}
	for at += n; at < len(text); {
		switch c := text[at]; {
		case c == '>':
			p.size, p.closed = at+1, text[at-1] == '/'
			return p, true
		case c == '/' || strings.IndexByte(blanks, c) >= 0:
			at++
			continue
		}
		n := strings.IndexAny(text[at+1:], blanks+"/>=") + 1
		if n == 0 {
			break
		}
		a := attribute{key: strings.ToLower(text[at : at+n])}
		at += n
		rest := strings.TrimLeft(text[at:], blanks)
		if strings.HasPrefix(rest, "=") {
			rest = strings.TrimLeft(rest[1:], blanks)
			if a.value, rest, ok = attributeValue(rest); !ok {
				break
			}
			at = len(text) - len(rest)
		}
		p.attributes = append(p.attributes, a)
	}
	return piece{}, false
}

// attributeValue splits the value of an attribute from the beginning of a text.
func attributeValue(text string) (value, rest string, ok bool) {
	if text == "" {
		return "", "", false
	}
	if quote := text[:1]; quote == `"` || quote == "'" {
		value, rest, ok = strings.Cut(text[1:], quote)
	} else {
		n := strings.IndexAny(text, blanks+">")
		if n < 0 {
			return "", "", false
		}
		value, rest, ok = text[:n], text[n:], true
	}
	return html.UnescapeString(value), rest, ok
}
