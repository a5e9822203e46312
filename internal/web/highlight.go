package web

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// part is a piece of a text. Mark is set if it matches the query.
type part struct {
	Text string
	Mark bool
}

// maxRow is the maximum length of a description in a list, in characters.
const maxRow = 320

// wordsOf returns the words of a query in the form that [highlight] compares.
func wordsOf(query string) []string {
	return strings.FieldsFunc(string(skill.KeyOf(query)), func(r rune) bool { return !isWord(r) })
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) }

// highlight marks the words of a query in a text and cuts the text. If the words are only in the
// part that would be cut, the text begins shortly before the first of them.
func highlight(text string, words []string) []part {
	cut := display.Cut(text, maxRow)
	parts := splitMatches(cut, words)
	if len(parts) > 1 || len(parts) == 1 && parts[0].Mark || cut == text {
		return parts
	}
	rest := splitMatches(text, words)
	if len(rest) < 2 {
		return parts
	}
	const before = 80 // bytes
	from := max(len(rest[0].Text)-before, 0)
	if space := strings.IndexByte(rest[0].Text[from:], ' '); space >= 0 {
		from += space + 1
	} else {
		from = len(rest[0].Text)
	}
	return splitMatches("… "+display.Cut(text[from:], maxRow), words)
}

// splitMatches splits a text into parts that match one of the words and parts that do not.
func splitMatches(text string, words []string) (parts []part) {
	from := 0 // the beginning of the part without a mark
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !isWord(r) {
			i += size
			continue
		}
		end := i + size
		for end < len(text) {
			r, size := utf8.DecodeRuneInString(text[end:])
			if !isWord(r) {
				break
			}
			end += size
		}
		if a, b := matched(text[i:end], words); a < b {
			if from < i+a {
				parts = append(parts, part{Text: text[from : i+a]})
			}
			parts = append(parts, part{text[i+a : i+b], true})
			from = i + b
		}
		i = end
	}
	if from < len(text) {
		parts = append(parts, part{Text: text[from:]})
	}
	return parts
}

// matched returns the byte range of a word that matches one of the query's words, or 0, 0. The
// range is usually the beginning of the word. It is the whole word if the query has the word with a
// different ending.
func matched(word string, words []string) (from, to int) {
	low := strings.ToLower(word)
	for _, w := range words {
		switch at := strings.Index(low, w); {
		case at < 0:
			if sameStem(low, w) {
				return 0, len(word)
			}
		case len(low) != len(word):
			return 0, len(word)
		case !display.IsASCII(w): // some scripts have no spaces between words
			return at, at + len(w)
		case at == 0 && (len(w) > 2 || len(w) == len(word)):
			return 0, len(w)
		}
	}
	return 0, 0
}

// endings are the endings in which two forms of an English word differ.
var endings = []string{"", "s", "es", "ed", "er", "ing"}

// sameStem reports whether two words differ only in their endings.
func sameStem(a, b string) bool {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n >= 3 && slices.Contains(endings, a[n:]) && slices.Contains(endings, b[n:])
}
