// Package display makes untrusted texts safe to show to people and models.
//
// A text from a skill, a client or a file system can have control characters, invisible characters,
// secrets and megabytes. The functions of this package shorten, join, escape or redact such a text.
package display

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// EchoLimit is the maximum length of a name or path that an answer repeats (contracts.md: 256
// bytes).
const EchoLimit = 256

// Echo makes an untrusted text safe to repeat in an answer. The result has at most [EchoLimit]
// bytes. Control characters and invisible characters become escapes.
func Echo(s string) string {
	s = CutBytes(strings.ToValidUTF8(CutBytes(s, 4*EchoLimit), "\ufffd"), EchoLimit)
	return spellHidden(s, "", EchoLimit, Escaped)
}

// CutBytes returns the longest prefix of s that has at most n bytes and ends between characters.
// Invalid UTF-8 may be cut anywhere.
func CutBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n = max(n, 0)
	for at := n; at >= 0 && at > n-utf8.UTFMax; at-- {
		if utf8.RuneStart(s[at]) {
			return s[:at]
		}
	}
	return s[:n]
}

// Excerpt shortens a text for a message to one line of at most 40 characters.
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

// OneLine replaces every run of white space and control characters with one space, and trims the
// ends. It drops invisible characters that the text does not need (see [IsNeeded]), since in one
// line they could only disguise or hide text.
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
		case IsHidden(s, i, r):
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

// IsBlank reports whether [OneLine] of s is empty.
func IsBlank(s string) bool {
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

// Count returns a number and its noun in the singular or plural: "1 skill", "2 skills".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// First joins the names at the start of a list, at most the given number, and adds how many more
// there are.
func First(names []string, most int) string {
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += " and " + Thousands(more) + " more"
	}
	return text
}

// Thousands returns a number with a comma between groups of three digits: "12,345".
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Spelt returns a file name for people. It quotes and escapes a name that is not ASCII or not one
// line, since that may have invisible characters or look-alike letters.
func Spelt(name string) string {
	if !IsASCII(name) || OneLine(name) != name {
		return strconv.QuoteToASCII(name)
	}
	return name
}

// IsASCII reports whether s consists of ASCII characters.
func IsASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
