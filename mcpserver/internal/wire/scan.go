package wire

import (
	"strconv"
	"unicode/utf8"
)

// maxDepth is how deep a message may nest to be read here. The deepest request of a real
// client has eight levels; the SDK reads up to 1000.
const maxDepth = 64

// scanner walks over JSON text. Its methods report false at the first byte that is not
// JSON.
type scanner struct {
	b  []byte
	at int
}

func (s *scanner) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		default:
			return
		}
	}
}

// take consumes the byte c.
func (s *scanner) take(c byte) bool {
	if s.at < len(s.b) && s.b[s.at] == c {
		s.at++
		return true
	}
	return false
}

// value consumes one value and returns its text.
func (s *scanner) value(depth int) ([]byte, bool) {
	from := s.at
	if s.at == len(s.b) {
		return nil, false
	}
	ok := false
	switch c := s.b[s.at]; {
	case c == '"':
		ok = s.str()
	case c == '{':
		ok = s.members(depth, func(_, _ []byte) bool { return true })
	case c == '[':
		ok = s.items(depth)
	case c == '-' || '0' <= c && c <= '9':
		ok = s.number()
	case c == 't':
		ok = s.word("true")
	case c == 'f':
		ok = s.word("false")
	case c == 'n':
		ok = s.word("null")
	}
	return s.b[from:s.at], ok
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.at < len(w) || string(s.b[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// str consumes a string, whose bytes are valid UTF-8.
func (s *scanner) str() bool {
	for i := s.at + 1; i < len(s.b); i++ {
		switch c := s.b[i]; {
		case c == '"':
			s.at = i + 1
			return true
		case c < ' ':
			return false
		case c == '\\':
			if i++; i == len(s.b) {
				return false
			}
			switch s.b[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := unit(s.b[i+1:]); !ok {
					return false
				}
				i += 4
			default:
				return false
			}
		}
	}
	return false
}

// unit reads the four digits of a \u escape.
func unit(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var u rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			u = u<<4 | rune(c-'0')
		case 'a' <= c && c <= 'f':
			u = u<<4 | rune(c-'a'+10)
		case 'A' <= c && c <= 'F':
			u = u<<4 | rune(c-'A'+10)
		default:
			return 0, false
		}
	}
	return u, true
}

func (s *scanner) number() bool {
	s.take('-')
	if !s.take('0') && !s.digits() {
		return false
	}
	if s.take('.') && !s.digits() {
		return false
	}
	if s.take('e') || s.take('E') {
		if !s.take('+') {
			s.take('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	from := s.at
	for s.at < len(s.b) && '0' <= s.b[s.at] && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}

// members consumes an object and calls each with the text of every key, quotes
// included, and of its value. It ends when each reports false.
func (s *scanner) members(depth int, each func(key, value []byte) bool) bool {
	if depth--; depth < 0 || !s.take('{') {
		return false
	}
	if s.space(); s.take('}') {
		return true
	}
	for {
		s.space()
		from := s.at
		if s.at == len(s.b) || s.b[s.at] != '"' || !s.str() {
			return false
		}
		key := s.b[from:s.at]
		if s.space(); !s.take(':') {
			return false
		}
		s.space()
		value, ok := s.value(depth)
		if !ok || !each(key, value) {
			return false
		}
		if s.space(); s.take('}') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

func (s *scanner) items(depth int) bool {
	if depth--; depth < 0 || !s.take('[') {
		return false
	}
	if s.space(); s.take(']') {
		return true
	}
	for {
		s.space()
		if _, ok := s.value(depth); !ok {
			return false
		}
		if s.space(); s.take(']') {
			return true
		}
		if !s.take(',') {
			return false
		}
	}
}

// members calls each with the members of the object that b is.
func members(b []byte, each func(key, value []byte) bool) bool {
	s := scanner{b: b}
	return s.members(maxDepth, each) && s.at == len(b)
}

// text decodes a JSON string. It declines half of a surrogate pair, for which decoders
// put U+FFFD.
func text(raw []byte) (string, bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	raw = raw[1 : len(raw)-1]
	plain := true
	for _, c := range raw {
		if c == '\\' {
			plain = false
			break
		}
	}
	if plain {
		return string(raw), true
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch c := raw[i]; c {
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, _ := unit(raw[i+1:])
			i += 4
			if 0xd800 <= r && r < 0xe000 {
				if i+2 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
					return "", false
				}
				low, _ := unit(raw[i+3:])
				if r >= 0xdc00 || low < 0xdc00 || low >= 0xe000 {
					return "", false
				}
				r = (r-0xd800)<<10 | (low - 0xdc00) + 0x10000
				i += 6
			}
			out = utf8.AppendRune(out, r)
		default: // a quote, a slash or a backslash
			out = append(out, c)
		}
	}
	return string(out), true
}

// plainID reports whether an id is written as every encoder writes it, so that it can be
// given back as it is: a whole number of at most 15 digits, or ASCII without escapes.
func plainID(raw []byte) bool {
	if raw[0] == '"' {
		for _, c := range raw[1 : len(raw)-1] {
			if c < ' ' || c > '~' || c == '\\' {
				return false
			}
		}
		return true
	}
	if len(raw) > 15 {
		return false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return err == nil && (n != 0 || len(raw) == 1)
}
