package display

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unseen is the table of invisible characters for all surfaces. It contains the format characters
// (Cf) except visible signs, the line and paragraph separators, and Unicode's default-ignorable
// characters. It also contains the variation selectors, the blank Braille pattern, and everything
// from plane 14 on. A test compares it with the tables of package unicode.
var unseen = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1}, // soft hyphen
		{0x034f, 0x034f, 1}, // combining grapheme joiner
		{0x061c, 0x061c, 1}, // Arabic letter mark
		{0x115f, 0x1160, 1}, // Hangul fillers
		{0x17b4, 0x17b5, 1}, // Khmer inherent vowels
		{0x180b, 0x180f, 1}, // Mongolian selectors and vowel separator
		{0x200b, 0x200f, 1}, // zero-width space, joiners, direction marks
		{0x2028, 0x202e, 1}, // separators, embeddings, overrides
		{0x2060, 0x206f, 1}, // word joiner, invisible operators, isolates
		{0x2800, 0x2800, 1}, // Braille pattern without dots
		{0x3164, 0x3164, 1}, // Hangul filler
		{0xfe00, 0xfe0f, 1}, // variation selectors
		{0xfeff, 0xfeff, 1}, // byte-order mark
		{0xffa0, 0xffa0, 1}, // half-width Hangul filler
		{0xfff0, 0xfffb, 1}, // specials
	},
	R32: []unicode.Range32{
		{0x13430, 0x1343f, 1},  // controls of hieroglyphs
		{0x1bca0, 0x1bca3, 1},  // controls of shorthand
		{0x1d173, 0x1d17a, 1},  // controls of musical notes
		{0xe0000, 0x10ffff, 1}, // tags, selectors, private planes
	},
	LatinOffset: 1,
}

// IsUnseen reports whether r is an invisible character that hides, joins or steers text. Some emoji
// and scripts need such characters; see [IsNeeded]. Control characters are not included.
func IsUnseen(r rune) bool { return r >= 0xad && unicode.Is(unseen, r) }

// IsBidiControl reports whether r controls the direction of text (Unicode UAX #9: embeddings,
// overrides, isolates and marks).
func IsBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// IsTag reports whether r is in the block Tags, which repeats ASCII as characters that models read
// but people do not see.
func IsTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// Visible returns s with each invisible character and each terminal control replaced by its
// spelling. It keeps tabs, line ends, and the invisible characters that the text needs; see
// [IsNeeded].
func Visible(s string, spell func(rune) string) string {
	return spellHidden(s, "\t\n\r", math.MaxInt, spell)
}

// spellHidden is [Visible] with a bound on the result, in bytes. It keeps the control characters in
// stay. It never returns a part of a spelling.
func spellHidden(s, stay string, most int, spell func(rune) string) string {
	i := indexHidden(s, 0, stay)
	if i < 0 {
		return CutBytes(s, most)
	}
	var b strings.Builder
	from := 0
	for ; i >= 0; i = indexHidden(s, from, stay) {
		r, size := utf8.DecodeRuneInString(s[i:])
		spelt := spell(r)
		if b.Len()+i-from+len(spelt) > most {
			return b.String() + CutBytes(s[from:i], most-b.Len())
		}
		b.WriteString(s[from:i])
		b.WriteString(spelt)
		from = i + size
	}
	return b.String() + CutBytes(s[from:], most-b.Len())
}

// Escaped spells an invisible character as an escape of a string literal: \u202e, \x1b.
func Escaped(r rune) string {
	q := strconv.QuoteRuneToASCII(r)
	return q[1 : len(q)-1]
}

// CodePoint spells an invisible character in the form that people look up: [U+202E].
func CodePoint(r rune) string { return fmt.Sprintf("[U+%04X]", r) }

// indexHidden returns the index in s of the first character at or after from that [spellHidden]
// replaces, or -1.
func indexHidden(s string, from int, stay string) int {
	for i := from; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if (c < ' ' || c == 0x7f) && strings.IndexByte(stay, c) < 0 {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		if unicode.IsControl(r) || IsHidden(s, i, r) {
			return i
		}
		i += size
	}
	return -1
}

// IsHidden reports whether r, at an offset in s, is an invisible character that the text does not
// need.
func IsHidden(s string, at int, r rune) bool { return IsUnseen(r) && !IsNeeded(s, at, r) }

// IsNeeded reports whether a text needs the invisible character r at an offset. A text needs a
// joiner between two letters of a script that joins letters, after a virama, and between two emoji.
// It needs a variation selector after a character that has an emoji style. It needs the tags that
// spell a flag.
func IsNeeded(s string, at int, r rune) bool {
	switch {
	case r == zwnj || r == zwj:
		after, _ := utf8.DecodeRuneInString(s[at+len("\u200d"):])
		return joinsLetters(s[:at], after) || r == zwj && joinsEmoji(s[:at], after)
	case r == textStyle || r == emojiStyle:
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		return unicode.Is(styled, before) || strings.ContainsRune("0123456789#*", before) && strings.HasPrefix(s[at:], keycap)
	case IsTag(r):
		return isFlag(s, at)
	}
	return false
}

const (
	zwnj, zwj             = 0x200c, 0x200d
	textStyle, emojiStyle = 0xfe0e, 0xfe0f
	keycap                = "\ufe0f\u20e3"
)

// joining lists the scripts that use joiners in spelling: the cursive scripts, and the scripts
// of India and its neighbours, which join consonants.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mandaic, unicode.Nko, unicode.Mongolian, unicode.Phags_Pa, unicode.Adlam,
	unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala,
	unicode.Myanmar, unicode.Khmer, unicode.Balinese, unicode.Javanese,
}

// virama has the signs of the Indic scripts that remove the vowel of a consonant. A joiner after
// one shapes the consonant, even at the end of a word.
var virama = &unicode.RangeTable{R16: []unicode.Range16{{0x094d, 0x0d4d, 0x80}, {0x0dca, 0x0dca, 1}}}

// joinsLetters reports whether a joiner is between letters of one script that joins letters. text
// ends before the joiner, and after is the character that follows it.
func joinsLetters(text string, after rune) bool {
	before, size := utf8.DecodeLastRuneInString(text)
	if unicode.Is(virama, before) {
		return !IsUnseen(after)
	}
	for unicode.Is(unicode.Inherited, before) && unicode.Is(unicode.M, before) { // marks of any script
		text = text[:len(text)-size]
		before, size = utf8.DecodeLastRuneInString(text)
	}
	if !unicode.In(before, unicode.L, unicode.M) || !unicode.In(after, unicode.L, unicode.M) {
		return false
	}
	for _, script := range joining {
		if unicode.Is(script, before) {
			return unicode.Is(script, after)
		}
	}
	return false
}

// pictograph has the characters that are parts of joined emoji (emoji-zwj-sequences.txt of Unicode
// 17). It also has the rest of the emoji blocks, for new emoji.
var pictograph = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x2194, 0x2195, 1}, {0x2620, 0x2620, 1}, {0x2640, 0x2640, 1}, {0x2642, 0x2642, 1}, {0x2695, 0x2696, 1}, {0x26a7, 0x26a7, 1},
		{0x26d3, 0x26d3, 1}, {0x26f9, 0x26f9, 1}, {0x2708, 0x2708, 1}, {0x2764, 0x2764, 1}, {0x27a1, 0x27a1, 1}, {0x2b1b, 0x2b1b, 1},
	},
	R32: []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6ff, 1}, {0x1f7e0, 0x1f7eb, 1}, {0x1f900, 0x1f9ff, 1}, {0x1fa70, 0x1faff, 1}},
}

// styled contains the blocks of the characters that have both a text style and an emoji style
// (emoji-variation-sequences.txt), except the digits of keycaps.
var styled = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xa9, 0xa9, 1}, {0xae, 0xae, 1}, {0x203c, 0x203c, 1}, {0x2049, 0x2049, 1}, {0x2122, 0x2122, 1}, {0x2139, 0x2139, 1}, {0x2190, 0x21ff, 1}, {0x2300, 0x23ff, 1},
		{0x24c2, 0x24c2, 1}, {0x25a0, 0x27bf, 1}, {0x2934, 0x2935, 1}, {0x2b00, 0x2bff, 1}, {0x3030, 0x3030, 1}, {0x303d, 0x303d, 1}, {0x3297, 0x3299, 2},
	},
	R32:         []unicode.Range32{{0x1f000, 0x1faff, 1}},
	LatinOffset: 2,
}

// joinsEmoji reports whether a joiner makes one emoji of two. text ends before the joiner, and
// after is the character that follows it.
func joinsEmoji(text string, after rune) bool {
	before, _ := utf8.DecodeLastRuneInString(strings.TrimSuffix(text, "\ufe0f"))
	const tones, lastTone = 0x1f3fb, 0x1f3ff // skin tones, which follow an emoji
	return unicode.Is(pictograph, before) && unicode.Is(pictograph, after) && (after < tones || after > lastTone)
}

// flags lists the flags that are spelt with tags: a black flag, the code of a region, and a cancel
// tag. They are the flags of England, Scotland and Wales. Unicode recommends only these (UTS #51),
// and no system has more.
var flags = [...]string{
	blackFlag + "\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
	blackFlag + "\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
	blackFlag + "\U000e0067\U000e0062\U000e0077\U000e006c\U000e0073\U000e007f",
}

const blackFlag = "\U0001f3f4"

// isFlag reports whether the tag at an offset is part of one of the flags.
func isFlag(s string, at int) bool {
	from := max(at-len(flags[0]), 0)
	from += max(strings.LastIndex(s[from:at], blackFlag), 0)
	for _, flag := range flags {
		if strings.HasPrefix(s[from:], flag) {
			return at < from+len(flag)
		}
	}
	return false
}
