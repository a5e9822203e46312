package wire

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxDepth is how deep a message may nest to be read here. The deepest request of a real
// client has eight levels; the SDK reads up to 1000.
const maxDepth = 64

// The functions of this file walk over JSON that [json.Valid] has accepted, without decoding
// it: only where a value ends has to be found.

// members calls each with the text of every key of an object, quotes included, and of its
// value, until each reports false. It reports false if b is no object or nests too deep.
func members(b []byte, each func(key, value []byte) bool) bool {
	if len(b) == 0 || b[0] != '{' {
		return false
	}
	for i := space(b, 1); b[i] != '}'; {
		keyEnd := i + length(b[i:])
		from := space(b, space(b, keyEnd)+1) // behind the colon
		n := length(b[from:])
		if n == 0 || !each(b[i:keyEnd], b[from:from+n]) {
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

// length is how long the value is with which b begins, 0 if it nests too deep.
func length(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			for i++; b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		case '{', '[':
			if depth++; depth > maxDepth {
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

// text decodes a JSON string. It declines half of a surrogate pair, for which decoders
// put U+FFFD.
func text(raw []byte) (s string, ok bool) {
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

// paired matches a string in which every half of a surrogate pair has its other half.
var paired = later(`^(?:[^\\]|\\[^u]|\\u[^dD]...|\\u[dD][0-7]..|\\u[dD][89abAB]..\\u[dD][c-fC-F]..)*$`)

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
