package display

import (
	"unicode"

	"golang.org/x/text/width"
)

// Columns returns the number of columns that a one-line text takes on a terminal. It counts the
// parts of joined emoji separately, as most terminals draw them.
func Columns(s string) (n int) {
	if IsASCII(s) {
		return len(s)
	}
	before := 0
	for _, r := range s {
		if r == emojiStyle && before == 1 {
			n++ // r makes the previous character an emoji, which is wider
		}
		before = RuneColumns(r)
		n += before
	}
	return n
}

// RuneColumns returns the number of columns of a character. East Asian characters and emoji have
// two, combining marks and invisible characters none.
func RuneColumns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case r >= 0x1160 && r <= 0x11ff, IsUnseen(r), unicode.In(r, unicode.Mn, unicode.Me): // Hangul vowels and finals
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// CutColumns is [Cut] with a bound on columns instead of characters.
func CutColumns(s string, columns int) string {
	switch {
	case len(s) <= columns: // a character never has more columns than bytes
		return s
	case IsASCII(s):
		return Cut(s, columns)
	}
	n, taken := 1, 0 // one more than fits, since an ellipsis may replace two columns with one
	for _, r := range s {
		if taken += RuneColumns(r); taken > columns {
			break
		}
		n++
	}
	cut := Cut(s, n)
	for n > 0 && Columns(cut) > columns {
		n--
		cut = Cut(s, n)
	}
	return cut
}

// Wrap breaks a one-line text between words into lines of at most the given number of columns. The
// first line has at most first columns. A word that is longer than a line gets its own line. Escape
// sequences of colours take no columns.
func Wrap(s string, first, columns int) (lines []string) {
	for room := first; ; room = columns {
		at, next := breakOf(s, room)
		lines = append(lines, s[:at])
		if next == len(s) {
			return lines
		}
		s = s[next:]
	}
}

// breakOf returns where a text's first line ends, and where the next one begins.
func breakOf(s string, columns int) (end, next int) {
	taken, words := 0, false // words reports whether there was a character other than a space
	before, colour := ' ', false
	for i, r := range s {
		if colour = colour || r == '\x1b'; colour {
			colour = r != 'm'
			continue
		}
		if words && (r == ' ' && before != ' ' || r != ' ' && isWord(before) && isWord(r)) {
			end, next = i, i
			for next < len(s) && s[next] == ' ' {
				next++
			}
		}
		words = words || r != ' '
		if taken += RuneColumns(r); taken > columns && next > 0 && r != ' ' {
			return end, next
		}
		before = r
	}
	return len(s), len(s)
}
