package skill

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// EchoLimit bounds what an answer repeats of a name or path it was given
// (contracts.md: 256 bytes).
const EchoLimit = 256

// Echo makes a text that came from outside fit to be repeated in an answer: at
// most [EchoLimit] bytes, control and direction characters written as escapes.
func Echo(s string) string {
	s = CutBytes(strings.ToValidUTF8(CutBytes(s, 4*EchoLimit), "\ufffd"), EchoLimit)
	if strings.IndexFunc(s, steers) < 0 {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		shown := string(r)
		if steers(r) {
			q := strconv.QuoteRuneToASCII(r)
			shown = q[1 : len(q)-1]
		}
		if b.Len()+len(shown) > EchoLimit {
			break // an escape is longer than what it stands for
		}
		b.WriteString(shown)
	}
	return b.String()
}

func steers(r rune) bool {
	return unicode.IsControl(r) || IsBidiControl(r) || isSeparator(r)
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

// OneLine folds every run of white space and control characters to one space
// and trims the ends. Characters that steer the direction of text are dropped:
// in one line of a listing they could only disguise it.
func OneLine(s string) string {
	if isOneLine(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	space := false
	for _, r := range s {
		switch {
		case unicode.IsSpace(r) || unicode.IsControl(r):
			space = b.Len() > 0
			continue
		case IsBidiControl(r):
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
		if !unicode.IsSpace(r) && !unicode.IsControl(r) && !IsBidiControl(r) {
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

// IsBidiControl reports whether r steers the direction of the text around it
// (Unicode UAX #9: embeddings, overrides, isolates and marks).
func IsBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// IsUnseen reports whether r is a character that nobody sees, and that hides, joins or
// steers what is around it: direction and format characters, separators of lines, the
// tags, and all of the planes behind them. Emoji and some scripts need the two joiners.
func IsUnseen(r rune) bool {
	return IsBidiControl(r) || isSeparator(r) || r == 0xad || r >= 0x200b && r <= 0x200d || r >= 0x2060 && r <= 0x206f ||
		r >= 0xfe00 && r <= 0xfe0d || // variation selectors but for the two of emoji
		r == 0x34f || r == 0x115f || r == 0x1160 || r >= 0x180b && r <= 0x180f || r == 0x3164 || r == 0xffa0 || // joiners, fillers
		r == 0xfeff || r >= 0xfff9 && r <= 0xfffb || r >= 0xe0000
}

// AppendVisibleJSON appends a JSON text for people to look at: with the same value, and
// what they would not see, or what drives a terminal, as escapes.
func AppendVisibleJSON(b, text []byte) []byte {
	for _, r := range string(text) {
		switch {
		case r < ' ' || r != 0x7f && !unicode.IsControl(r) && !IsUnseen(r): // below the blank only what stands between values
			b = utf8.AppendRune(b, r)
		case r > 0xffff:
			one, two := utf16.EncodeRune(r)
			b = fmt.Appendf(b, `\u%04x\u%04x`, one, two)
		default:
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return b
}

// Count is a number with the word for what was counted, one or many: "1 skill",
// "2 skills".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
