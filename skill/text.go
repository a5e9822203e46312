package skill

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EchoLimit bounds what an answer repeats of a name or path it was given
// (contracts.md: 256 bytes).
const EchoLimit = 256

// Echo makes a text from outside fit to be repeated in an answer. The result has at
// most [EchoLimit] bytes, with control characters and invisible characters as escapes.
func Echo(s string) string {
	s = CutBytes(strings.ToValidUTF8(CutBytes(s, 4*EchoLimit), "\ufffd"), EchoLimit)
	return spellHidden(s, "", EchoLimit, Escaped)
}

// CutBytes returns the longest prefix of s that has at most n bytes and ends
// between characters.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// Excerpt shortens a text for a message: one line, at most 40 characters.
func Excerpt(s string) string {
	s = OneLine(s)
	n := 0
	for i := range s {
		if n == 40 {
			return s[:i] + "…"
		}
		n++
	}
	return s
}

// Quote is [Excerpt] in single quotes.
func Quote(s string) string { return "'" + Excerpt(s) + "'" }

// OneLine folds every run of white space and control characters to one space and trims
// the ends. It drops invisible characters that the text does not need, see [Visible].
// In one line of a listing they could only disguise or hide something.
func OneLine(s string) string {
	if isOneLine(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for i, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case IsUnseen(r) && !IsNeeded(s, i, r):
			continue
		}
		if space {
			b.WriteByte(' ')
			space = false
		}
		b.WriteRune(r)
	}
	return b.String()
}

// isBlank reports whether [OneLine] leaves nothing of s.
func isBlank(s string) bool {
	for _, r := range s {
		if !unicode.IsSpace(r) && !unicode.IsControl(r) && !IsUnseen(r) {
			return false
		}
	}
	return true
}

func isOneLine(s string) bool {
	prev := byte(' ')
	for i := range len(s) {
		c := s[i]
		if c < ' ' || c >= utf8.RuneSelf || c == 0x7f || c == ' ' && prev == ' ' {
			return false
		}
		prev = c
	}
	return prev != ' ' || s == ""
}

// AppendVisibleJSON appends a JSON text for people to look at. The value stays the
// same; invisible characters, and those that drive a terminal, become escapes.
func AppendVisibleJSON(b, text []byte) []byte {
	from := 0
	for i := 0; i < len(text); {
		if text[i] < 0x7f { // below the blank are only the separators of values
			i++
			continue
		}
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r == utf8.RuneError:
			b = utf8.AppendRune(append(b, text[from:i]...), r)
		case !unicode.IsControl(r) && !IsUnseen(r):
			i += size
			continue
		case r > 0xffff:
			one, two := utf16.EncodeRune(r)
			b = fmt.Appendf(append(b, text[from:i]...), `\u%04x\u%04x`, one, two)
		default:
			b = fmt.Appendf(append(b, text[from:i]...), `\u%04x`, r)
		}
		i += size
		from = i
	}
	return append(b, text[from:]...)
}

// Count returns a number with the word for the counted things, in the singular or
// plural: "1 skill", "2 skills".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
