package search

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/knack-dev/knack/internal/base/display"
)

// maxWord bounds the length of one word, in bytes; the rest of a longer word is ignored. The
// longest words in names are identifiers.
const maxWord = 48

// words yields the words of a text, folded. The bytes of a word are valid until the next word.
//
// A word is a run of letters and digits. "c++", "c#" and the like are words too. The possessive 's
// is dropped. In scripts that are written without spaces, words yields each pair of neighbouring
// characters, and the last character of a run. So each character begins a word.
func words(text string) func(yield func(word []byte) bool) {
	return func(yield func([]byte) bool) { cut(text, true, yield) }
}

// queryWords yields the words of a query. Unlike [words], it yields the last character of a run
// without spaces only if the run has just one character.
func queryWords(text string) func(yield func(word []byte) bool) {
	return func(yield func([]byte) bool) { cut(text, false, yield) }
}

func cut(text string, lasts bool, yield func([]byte) bool) {
	t := tokens{yield: yield, buf: make([]byte, 0, maxWord), lasts: lasts}
	t.cut(text)
}

// cut yields the words of a text until yield returns false.
func (t *tokens) cut(text string) {
	t.ended = false
	if isASCII(text) {
		t.ascii(text)
	} else {
		t.unicode(fold(text))
	}
}

// fold makes texts equal that differ only in case, in accents or in the width of their characters.
func fold(text string) string {
	// norm may leave a character composed beside a byte that is not UTF-8, so these bytes are
	// replaced first.
	decomposed := norm.NFKD.String(strings.ToValidUTF8(text, "\ufffd"))
	bare := make([]byte, 0, len(decomposed))
	for _, r := range decomposed {
		switch {
		case r >= 0x0300 && r <= 0x036f: // accents; the vowel signs of other scripts stay
		case r >= utf8.RuneSelf && plain[r] != "":
			bare = append(bare, plain[r]...)
		default:
			bare = utf8.AppendRune(bare, r)
		}
	}
	return norm.NFC.String(display.FoldCase(string(bare)))
}

// plain maps letters of Latin scripts that Unicode does not decompose to the letters that
// people type for them.
var plain = map[rune]string{
	'ø': "o", 'Ø': "o", 'ł': "l", 'Ł': "l", 'đ': "d", 'Đ': "d", 'ı': "i", 'æ': "ae", 'Æ': "ae", 'œ': "oe", 'Œ': "oe", 'ð': "d", 'Ð': "d", 'þ': "th", 'Þ': "th",
	'’': "'", // the apostrophe of word processors
}

type tokens struct {
	yield func([]byte) bool
	buf   []byte
	lasts bool // whether the last character of a longer run without spaces is yielded
	ended bool // yield returned false
}

// ascii cuts an ASCII text without the tables of package unicode.
func (t *tokens) ascii(s string) {
	for i := 0; i < len(s) && !t.ended; i++ {
		c := s[i]
		switch {
		case 'A' <= c && c <= 'Z':
			t.letter(c + 'a' - 'A')
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			t.letter(c)
		default:
			i += t.tail(s[i:])
			t.end()
		}
	}
	t.end()
}

func (t *tokens) unicode(s string) {
	for i := 0; i < len(s) && !t.ended; {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unbroken(r):
			t.end()
			i += t.pairs(s[i:])
			continue
		case r < utf8.RuneSelf && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9'):
			t.letter(byte(r))
		case r >= utf8.RuneSelf && r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)):
			t.add(s[i : i+n])
		default:
			n += t.tail(s[i:])
			t.end()
		}
		i += n
	}
	t.end()
}

// add appends s to the current word. It drops a character if not all of its bytes fit.
func (t *tokens) add(s string) {
	if len(t.buf)+len(s) <= maxWord {
		t.buf = append(t.buf, s...)
	}
}

func (t *tokens) letter(c byte) {
	if len(t.buf) < maxWord {
		t.buf = append(t.buf, c)
	}
}

// tail reads the end of a word. "++" and "#" after one or two letters belong to the word, "'s" does
// not. It returns the number of bytes that it has read, without the first.
func (t *tokens) tail(s string) int {
	if len(t.buf) == 0 {
		return 0
	}
	switch {
	case s[0] == '#' && len(t.buf) == 1 && !follows(s, 1):
		t.add("#")
	case s[0] == '+' && len(t.buf) <= 2 && len(s) > 1 && s[1] == '+' && !follows(s, 2):
		t.add("++")
		return 1
	case s[0] == '\'' && len(s) > 1 && (s[1] == 's' || s[1] == 'S') && !follows(s, 2):
		return 1
	}
	return 0
}

// follows reports whether a word continues or begins at s[i].
func follows(s string, i int) bool {
	if i >= len(s) {
		return false
	}
	c := s[i]
	return c >= utf8.RuneSelf || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (t *tokens) end() {
	if len(t.buf) > 0 && !t.ended {
		t.ended = !t.yield(t.buf)
	}
	t.buf = t.buf[:0]
}

// pairs reads a run of characters of a script without spaces, and returns its length in bytes.
func (t *tokens) pairs(s string) int {
	at := 0
	_, width := utf8.DecodeRuneInString(s)
	for !t.ended {
		r, n := utf8.DecodeRuneInString(s[at+width:])
		if n == 0 || !unbroken(r) {
			if t.lasts || at == 0 {
				t.add(s[at : at+width])
				t.end()
			}
			return at + width
		}
		t.add(s[at : at+width+n])
		t.end()
		at, width = at+width, n
	}
	return len(s)
}

// unbroken reports whether a character belongs to a script without spaces between words, or to one
// that joins particles to words, such as Korean.
func unbroken(r rune) bool {
	return r == 'ー' || r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && !unicode.IsPunct(r)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// stop is the set of words that tell nothing about the subject of a query. They are indexed like
// other words. A search uses them only if a query has no other words.
var stop = sync.OnceValue(func() map[string]bool {
	all := map[string]bool{}
	for w := range words(`
		a about all also am an and any are as at be been but by can could did do does doing done
		for from get give go got had has have having he help her him his how i if in into is it its just
		let like make me more my need no not of on or our out own please she should show so some something
		tell that the their them then there these they thing things this those to too up us
		use used using very want was we were what when where whether which while who whom why will with would you your`) {
		all[string(w)] = true
	}
	return all
})

// synonyms maps a word to other words. A search for the word finds these too.
var synonyms = sync.OnceValue(func() map[string][]string {
	all := map[string][]string{}
	for _, group := range shortForms {
		for i, word := range group {
			all[word] = slices.Concat(group[:i], group[i+1:])
		}
	}
	for head, line := range headWords {
		for word := range strings.FieldsSeq(line) {
			all[word] = append(all[word], head)
		}
	}
	for _, others := range all {
		slices.Sort(others) // map order is random, and must not change the order of hits
	}
	return all
})

// synonymWords returns the words with synonyms, in alphabetical order.
var synonymWords = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(synonyms())) })

// synonymsOf returns the synonyms of a word or, if it has none, of its singular.
func synonymsOf(word string) []string {
	if others := synonyms()[word]; others != nil {
		return others
	}
	return synonyms()[strings.TrimSuffix(word, "s")]
}

// shortForms lists groups of words that mean the same. A search for one finds the others.
var shortForms = [][]string{
	{"js", "javascript"}, {"ts", "typescript"}, {"c#", "csharp", "dotnet"}, {"py", "python"},
	{"db", "database"}, {"k8s", "kubernetes"}, {"postgres", "postgresql"}, {"repo", "repository"},
	{"a11y", "accessibility"}, {"i18n", "internationalization"}, {"l10n", "localization"}, {"o11y", "observability"},
}

// headWords maps a word in skills to words that people use for it. A search for one of these finds
// the head word, but not the other way round. A compound of two words is listed as one word.
var headWords = map[string]string{
	"pptx":          "powerpoint slide deck presentation keynote slideshow",
	"xlsx":          "excel spreadsheet workbook",
	"docx":          "word",
	"pr":            "mr pullrequest mergerequest",
	"pull":          "pr mr mergerequest",
	"tdd":           "testfirst testsfirst testdriven",
	"test":          "qa",
	"debug":         "bug troubleshoot",
	"refactor":      "cleanup",
	"documentation": "doc docs",
	"changelog":     "releasenote",
	"regex":         "regexp regularexpression",
	"issue":         "ticket",
	"adr":           "decisionrecord",
	"prd":           "productrequirement",
	"cli":           "terminal commandline",
	"bash":          "shell",
	"browser":       "chrome",
	"scrape":        "crawl",
	"docker":        "container",
	"terraform":     "tf iac",
	"ci":            "cicd continuousintegration",
	"aws":           "amazon",
	"gcp":           "googlecloud",
	"github":        "gh",
	"node":          "nodejs",
	"react":         "reactjs",
	"vue":           "vuejs",
	"next":          "nextjs",
	"ios":           "iphone ipad",
	"macos":         "mac osx",
	"llm":           "languagemodel",
	"ml":            "machinelearning",
	"mcp":           "modelcontext",
	"seo":           "searchengine",
	"email":         "mail",
	"image":         "picture photo",
	"website":       "site webpage homepage",
	"visualization": "chart plot",
	"resume":        "cv",
	"jupyter":       "ipynb notebook",
	"brainstorm":    "idea ideation",
}
