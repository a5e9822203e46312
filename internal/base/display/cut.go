package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Cut shortens a text to at most n characters: after a sentence that ends in the second half,
// else between words, with an ellipsis. If neither is possible, it cuts inside a word. At least
// half of the length is used.
func Cut(s string, n int) string {
	kept, elided := Shorten(s, n)
	if elided {
		return kept + Ellipsis
	}
	return kept
}

// Fill is like [Cut] but uses more of the room. It looks for the end of a sentence or word only
// in the last eighth, or the last ten characters.
func Fill(s string, n int) string {
	kept, elided := shorten(s, n, max(n/2, n-max(n/8, 10)))
	if elided {
		return kept + Ellipsis
	}
	return kept
}

// Ellipsis marks a text that was cut.
const Ellipsis = "…"

// Shorten is [Cut] without the ellipsis; elided reports whether to add it.
func Shorten(s string, n int) (kept string, elided bool) { return shorten(s, n, n/2) }

// shorten is like [Shorten], but the result has more than least characters.
func shorten(s string, n, least int) (kept string, elided bool) {
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
	// Backwards: at is the end of the i-th character, and next is the character after it.
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
	for i, at := n-1, end; i > least; i-- { // at is where the i-th, r, begins
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

// isWord reports whether a character is a word by itself, as in scripts without blanks
// between words.
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

// Prefix returns at most the first n characters of s.
func Prefix(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// Length returns the number of UTF-16 units of a text, at least its number of characters. Clients
// that cut texts count these units.
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
