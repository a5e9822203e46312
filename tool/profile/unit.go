package profile

import (
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// Unit is the unit in which a client measures a text. A client that counts a fixed number of bytes
// as one token, such as Codex with 4, counts bytes.
type Unit int

// The units.
const (
	UTF16      Unit = iota // UTF-16 units, as programs in JavaScript count
	Characters             // Unicode code points
	Bytes                  // bytes of UTF-8
	JSON                   // bytes of UTF-8 in a JSON string, without its quotes
)

// Length returns the length of a text.
func (u Unit) Length(s string) int {
	switch u {
	case Characters:
		return utf8.RuneCountInString(s)
	case Bytes:
		return len(s)
	case JSON:
		n := len(s)
		for i := range len(s) {
			n += escape(s[i])
		}
		return n
	}
	return display.Length(s)
}

// Prefix returns the longest beginning of a text that has at most n units and ends between
// characters.
func (u Unit) Prefix(s string, n int) string {
	switch {
	case u == Bytes:
		return display.CutBytes(s, n)
	case len(s) <= n && u != JSON: // no other unit counts more than bytes
		return s
	}
	for i := 0; i < len(s); {
		_, size := utf8.DecodeRuneInString(s[i:])
		if n -= u.Length(s[i : i+size]); n < 0 {
			return s[:i]
		}
		i += size
	}
	return s
}

// escape returns the number of bytes that a JSON string adds to a byte to escape it.
func escape(c byte) int {
	switch {
	case c == '"' || c == '\\' || c >= '\b' && c <= '\r' && c != '\v':
		return 1
	case c < ' ':
		return 5
	}
	return 0
}
