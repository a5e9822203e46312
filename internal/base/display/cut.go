package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut shortens a text to at most n characters. It cuts after a sentence that ends in the second
// half of the n characters. If no sentence ends there, it cuts between words, or else inside a
// word, and adds an ellipsis. At least half of the n characters are used.
func Cut(s string, n int) string {
	start, elided := Shorten(s, n)
	if elided {
		return start + Ellipsis
	}
	return start
}

// Fill is like [Cut] but uses more of the n characters. It looks for the end of a sentence or word
// only in the last eighth, or in the last ten characters if these are more.
func Fill(s string, n int) string {
	start, elided := shorten(s, n, max(n/2, n-max(n/8, 10)))
	if elided {
		return start + Ellipsis
	}
	return start
}

// Ellipsis marks a text that was cut.
const Ellipsis = "…"

// Shorten is [Cut] without the ellipsis. elided reports whether to add one.
func Shorten(s string, n int) (start string, elided bool) { return shorten(s, n, n/2) }

// shorten is like [Shorten], but the result has more than least characters.
func shorten(s string, n, least int) (start string, elided bool) {
	if n <= 0 {
		return "", false
	}
	if len(s) <= n { // a text has no more characters than bytes
		return s, false
	}
	head := Prefix(s, n)
	if len(head) == len(s) {
		return s, false
	}
	// Search backwards: at is the end of the i-th character, and next is the character after it.
	next, _ := utf8.DecodeRuneInString(s[len(head):])
	for i, at := n-1, len(head); i > least; i-- {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		if isStop(r) && (unicode.IsSpace(next) || r > 0x3000) {
			return s[:at], false
		}
		next, at = r, at-size
	}
	r, size := utf8.DecodeLastRuneInString(head)
	end := len(head) - size
	last := r
	for i, at := n-1, end; i > least; i-- { // at is the start of r, the i-th character
		before, size := utf8.DecodeLastRuneInString(s[:at])
		if unicode.IsSpace(r) || isWord(before) && isWord(r) {
			end, last = at, r
			break
		}
		r, at = before, at-size
	}
	for end > 0 && last >= utf8.RuneSelf && unicode.In(last, unicode.M, unicode.Cf) {
		r, size := utf8.DecodeLastRuneInString(s[:end]) // a mark belongs to the character before it
		end, last = end-size, r
	}
	return strings.TrimRight(s[:end], " ,;:-"), true
}

// isWord reports whether a character is a word by itself, as in scripts without spaces between
// words.
func isWord(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

func isStop(r rune) bool {
	switch r {
	case '.', '!', '?', '。', '！', '？':
		return true
	}
	return false
}

// Prefix returns the first n characters of s, or s if it has fewer.
func Prefix(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Length returns the number of UTF-16 code units of a text, which clients count when they cut
// texts. It is at least the number of characters.
func Length(s string) int {
	if n := utf8.RuneCountInString(s); n == len(s) { // ASCII, as nearly all texts are
		return n
	}
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}
