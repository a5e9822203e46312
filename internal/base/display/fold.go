package display

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// FoldCase folds the case of a text for case-insensitive comparisons, by Unicode's full case
// folding: "Straße" becomes "strasse". The text must be decomposed, as by [norm.NFD] or
// [norm.NFKD], since FoldCase does not fold precomposed letters. Invalid UTF-8 is unchanged.
// golang.org/x/text/cases does the same, but its tables of all languages add 0.25 MB to a program.
func FoldCase(decomposed string) string {
	var b strings.Builder
	b.Grow(len(decomposed))
	for i, r := range decomposed {
		switch more, ok := expanded[r]; {
		case ok:
			b.WriteString(more)
		case r == 'ı': // I is the capital of both ı and i
			b.WriteRune(r)
		case r == utf8.RuneError && !strings.HasPrefix(decomposed[i:], "\ufffd"):
			b.WriteByte(decomposed[i])
		default:
			b.WriteRune(unicode.ToLower(unicode.ToUpper(r)))
		}
	}
	return b.String()
}

// expanded has the letters that fold to several letters (CaseFolding.txt, status F), except
// letters that NFD decomposes.
var expanded = map[rune]string{
	'ß': "ss", 'ẞ': "ss", 'ŉ': "ʼn", 'ẚ': "aʾ", 'և': "եւ",
	'ﬀ': "ff", 'ﬁ': "fi", 'ﬂ': "fl", 'ﬃ': "ffi", 'ﬄ': "ffl", 'ﬅ': "st", 'ﬆ': "st",
	'ﬓ': "մն", 'ﬔ': "մե", 'ﬕ': "մի", 'ﬖ': "վն", 'ﬗ': "մխ",
}
