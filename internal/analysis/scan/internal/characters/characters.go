// Package characters judges characters that people do not see, or mistake for others.
package characters

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"github.com/knack-dev/knack/internal/analysis/scan/internal/secrets"
	"github.com/knack-dev/knack/internal/base/display"
)

// reader judges the characters of texts.
type reader struct{ passage.Report }

// Scan judges the characters of a part that people do not see, or mistake for others.
func Scan(r passage.Report, p passage.Part) {
	s := reader{r}
	s.far(p)
	if display.IsASCII(p.Text) {
		return
	}
	for i := 0; i < len(p.Text); {
		if p.Text[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(p.Text[i:])
		if isUnseen(p.Text, i, r) {
			size = s.unseen(p, i)
		}
		i += size
	}
	s.words(p)
}

// A run of at least this many characters is no accident.
const (
	minSelectors = 3 // an emoji contains one
	minUnseen    = 8 // a joined emoji, or a letter of a script that joins letters, has one
)

// isUnseen reports whether the character at an offset is invisible and the text does not need it.
// The blank Braille pattern does not count: it is as wide as a letter, and Braille pictures are
// full of it. Private-use characters do not count either, since they are icons of a font.
func isUnseen(text string, at int, r rune) bool {
	switch {
	case r == '\u2800', r >= 0xf0000:
		return false
	case isSelector(r):
		return true
	}
	return display.IsHidden(text, at, r)
}

func isSelector(r rune) bool {
	return r >= 0xfe00 && r <= 0xfe0f || r >= 0xe0100 && r <= 0xe01ef || r >= 0x180b && r <= 0x180d || r == 0x180f
}

// isTagLike reports whether r is in the range of tag characters and is not a variation selector.
func isTagLike(r rune) bool { return r >= 0xe0000 && r <= 0xe0fff && !isSelector(r) }

// reorders reports whether r begins or ends a directional embedding, override or isolate. Direction
// marks do not count: they affect only their neighbours and are in daily use.
func reorders(r rune) bool { return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 }

// unseen judges the run of invisible characters at an offset and returns its length in bytes.
func (s reader) unseen(p passage.Part, from int) int {
	var all, tags, selectors, row, bidi int
	to := from
	var first rune
	for to < len(p.Text) {
		r, size := utf8.DecodeRuneInString(p.Text[to:])
		if !isUnseen(p.Text, to, r) {
			break
		}
		if all == 0 {
			first = r
		}
		all++
		row++
		switch {
		case isTagLike(r):
			tags++
		case reorders(r):
			bidi++
		}
		if !isSelector(r) {
			row = 0
		}
		selectors = max(selectors, row)
		to += size
	}
	run := p.Text[from:to]
	switch {
	case tags > 0 && s.Full(passage.Tags, p.File), bidi > 0 && s.Full(passage.Bidi, p.File):
	case tags > 0:
		s.Find(passage.Tags, p, from, to, display.Count(tags, "tag character")+saying(run, tagged))
	case selectors >= minSelectors:
		s.Find(passage.Selectors, p, from, to, display.Count(selectors, "variation selector")+" in a row"+saying(run, selected))
	case all >= minUnseen:
		s.Find(passage.ZeroWidthRun, p, from, to, fmt.Sprintf("%d invisible characters in a row, the first U+%04X", all, first))
	case bidi > 0:
		s.Find(passage.Bidi, p, from, to, fmt.Sprintf("%s that can reorder the text on the screen, in a run that begins with U+%04X", display.Count(bidi, "character"), first))
	case isWordLetter(runeBefore(p.Text, from)) && isWordLetter(runeAfter(p.Text, to)):
		s.Find(passage.ZeroWidthWord, p, from, to, fmt.Sprintf("U+%04X in a word", first))
	}
	return to - from
}

func runeBefore(text string, at int) rune {
	r, _ := utf8.DecodeLastRuneInString(text[:at])
	return r
}

func runeAfter(text string, at int) rune {
	r, _ := utf8.DecodeRuneInString(text[at:])
	return r
}

// isWordLetter reports whether r is a letter or digit of a script that needs no invisible
// characters within words. Thai, Khmer and others mark the ends of words with them.
func isWordLetter(r rune) bool {
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) || r >= '0' && r <= '9'
}

// maxDecoded limits the characters that are decoded for a message.
const maxDecoded = 1024

// saying returns the end of a message with the text that invisible characters spell. letter decodes
// one character.
func saying(run string, letter func(rune) rune) string {
	text := strings.Map(letter, display.CutBytes(run, 4*maxDecoded))
	if text = strings.TrimSpace(text); text == "" || !display.IsASCII(text) {
		return ""
	}
	return ", which spell " + secrets.Quote(text)
}

// tagged returns the ASCII character that a tag character stands for, or -1.
func tagged(r rune) rune {
	if r >= 0xe0020 && r < 0xe007f {
		return r - 0xe0000
	}
	return -1
}

// selected returns the byte that a variation selector stands for, or -1. The byte is the selector's
// number among the 256 selectors.
func selected(r rune) rune {
	switch {
	case r >= 0xfe00 && r <= 0xfe0f:
		r -= 0xfe00
	case r >= 0xe0100 && r <= 0xe01ef:
		r -= 0xe0100 - 16
	default:
		return -1
	}
	if r < ' ' && r != '\n' && r != '\t' {
		return -1
	}
	return r
}

// lookalikes lists letters of other alphabets that look like a Latin letter in every usual font
// (UTS #39, confusables.txt). It omits the Greek letters that name quantities.
const lookalikes = "асеорхуѕіјԁһӏԛԝҽ" + "АВЕКМНОРСТУХЅІЈԌ" + // Cyrillic
	"οΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + // Greek
	"օսոհցԼՏՍՕ" // Armenian

// words judges words with letters of two alphabets. A word is suspect if most of its letters are
// Latin and each other letter looks like a Latin one.
func (s reader) words(p passage.Part) {
	for i := 0; i < len(p.Text); {
		r, size := utf8.DecodeRuneInString(p.Text[i:])
		if !unicode.IsLetter(r) {
			i += size
			continue
		}
		from, latin, alike, other := i, 0, 0, 0
		for i < len(p.Text) {
			if r, size = utf8.DecodeRuneInString(p.Text[i:]); !unicode.IsLetter(r) {
				break
			}
			switch {
			case unicode.Is(unicode.Latin, r):
				latin++
			case strings.ContainsRune(lookalikes, r):
				alike++
			default:
				other++
			}
			i += size
		}
		if alike > 0 && other == 0 && latin > alike && latin+alike >= 4 && !s.Full(passage.Homoglyph, p.File) {
			word := p.Text[from:i]
			s.Find(passage.Homoglyph, p, from, i, "the word "+secrets.Quote(word)+" has letters that only look Latin: "+strings.Join(foreign(word), " "))
		}
	}
}

// foreign returns the first letters of a word that are not Latin.
func foreign(word string) (out []string) {
	for _, r := range word {
		if !unicode.Is(unicode.Latin, r) && len(out) < 4 {
			out = append(out, fmt.Sprintf("U+%04X", r))
		}
	}
	return out
}

// The amounts of empty space beyond which people do not scroll.
const (
	farLines  = 60
	farBlanks = 200
	maxFar    = 4 << 10 // bytes after the space that count as the text
)

// far judges text that is pushed out of sight by many blank lines or spaces. Table cells do not
// count, since other rows make their columns wide.
func (s reader) far(p passage.Part) {
	blank := 0 // lines
	at := 0
	for line := range strings.Lines(p.Text) {
		text := strings.TrimRight(line, " \t\r\n")
		if strings.TrimSpace(text) == "" {
			blank++
			at += len(line)
			continue
		}
		if blank >= farLines {
			from := len(text) - len(strings.TrimLeft(text, " \t"))
			to := min(len(text), from+maxFar)
			s.Find(passage.Far, p, at+from, at+to, fmt.Sprintf("text after %d blank lines: %s", blank, secrets.Quote(text[from:to])))
		}
		blank = 0
		s.farRight(p, at, text)
		at += len(line)
	}
}

// farRight judges the text of a line that follows many spaces.
func (s reader) farRight(p passage.Part, at int, text string) {
	if len(text) < farBlanks {
		return
	}
	for i := 0; i < len(text); {
		n := len(text[i:]) - len(strings.TrimLeft(text[i:], " \t\u00a0"))
		if i+n == len(text) {
			return
		}
		if n >= farBlanks && text[i+n] != '|' {
			to := min(len(text), i+n+maxFar)
			s.Find(passage.Far, p, at+i+n, at+to, fmt.Sprintf("text after %d blanks: %s", n, secrets.Quote(text[i+n:to])))
			return
		}
		i += n
		if n = strings.IndexAny(text[i:], " \t\u00a0"); n < 0 {
			return
		}
		i += n
	}
}
