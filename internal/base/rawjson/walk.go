package rawjson

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// MaxDepth bounds the nesting of an object's members. The deepest request of a real MCP client has
// eight levels; the MCP SDKs accept 1,000.
const MaxDepth = 900

// The functions of this file walk over JSON that [Object] or [json.Valid] has accepted. They look
// for the ends of values, and do not decode values.

// Members calls visit with each member of an object until visit returns false. key includes its
// quotes. Members returns false if visit does, if b is not an object, or if a member nests deeper
// than [MaxDepth].
func Members(b []byte, visit func(key, value []byte) bool) bool {
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	for i := space(b, 1); b[i] != '}'; {
		keyEnd := i + length(b[i:])
		from := space(b, space(b, keyEnd)+1) // after the colon
		n := length(b[from:])
		if n == 0 || !visit(b[i:keyEnd], b[from:from+n]) {
			return false
		}
		if i = space(b, from+n); b[i] == ',' {
			i = space(b, i+1)
		}
	}
	return true
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// length returns the length of the value at the start of b, or 0 if the value nests deeper than
// [MaxDepth].
func length(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i = plain(b, i+1); b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > MaxDepth {
				return 0
			}
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
			continue
		default:
			continue
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(b)
}

// Text decodes a JSON string. ok is false for a string with half of a surrogate pair, which
// decoders replace with U+FFFD.
func Text(raw []byte) (s string, ok bool) {
	if len(raw) < 2 || raw[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	if json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, !strings.ContainsRune(s, utf8.RuneError) || paired().Match(raw)
}

// paired matches a string whose surrogates all form pairs.
var paired = lazyregexp.New(`^(?:[^\\]|\\[^u]|\\u[^dD]...|\\u[dD][0-7]..|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*$`)
