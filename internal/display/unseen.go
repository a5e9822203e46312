package display

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unseen is the table of invisible characters, for every surface. It has the format
// characters (Cf) except the signs that are drawn, the separators of lines and
// paragraphs, and the characters that Unicode calls default-ignorable. It also has the
// variation selectors except the two of emoji, and everything from the plane of the
// tags on. A test compares it with the tables of package unicode.
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
		{0x3164, 0x3164, 1}, // Hangul filler
		{0xfe00, 0xfe0d, 1}, // variation selectors
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

// IsUnseen reports whether r is an invisible character that hides, joins or steers the
// text around it. Emoji and some scripts need a few of them: see [Visible]. Control
// characters are not among them.
func IsUnseen(r rune) bool { return r >= 0xad && unicode.Is(unseen, r) }

// IsBidiControl reports whether r steers the direction of the text around it
// (Unicode UAX #9: embeddings, overrides, isolates and marks).
func IsBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// IsTag reports whether r is of the block Tags, which spells ASCII in characters that
// models read and people do not see.
func IsTag(r rune) bool { return r >= 0xe0000 && r <= 0xe007f }

// Visible returns s with each invisible character, and each that a terminal obeys, as
// spell writes it. These are control characters except the tab and line ends, and those
// of [IsUnseen] that the text does not need. It needs a joiner between two letters of a
// script that has joiners or between two emoji, and the tags of a region's flag.
func Visible(s string, spell func(rune) string) string {
	return spellHidden(s, "\t\n\r", math.MaxInt, spell)
}

// spellHidden is Visible with a choice of the control characters that stay, and with a
// bound on the bytes of its result. It never cuts a spelling at the bound.
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

// Escaped spells an invisible character as programs do: \u202e, \x1b.
func Escaped(r rune) string {
	q := strconv.QuoteRuneToASCII(r)
	return q[1 : len(q)-1]
}

// CodePoint spells an invisible character as people look it up: [U+202E].
func CodePoint(r rune) string { return fmt.Sprintf("[U+%04X]", r) }

// indexHidden returns the index in s, from an offset on, of the first character that
// [spellHidden] spells, or -1.
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
		if unicode.IsControl(r) || IsUnseen(r) && !IsNeeded(s, i, r) {
			return i
		}
		i += size
	}
	return -1
}

// IsNeeded reports whether the text around the unseen character r at an offset needs
// it; see [Visible].
func IsNeeded(s string, at int, r rune) bool {
	switch {
	case r == 0x200c || r == 0x200d: // the scripts without joiners come first in Unicode
		before, _ := utf8.DecodeLastRuneInString(s[:at])
		after, _ := utf8.DecodeRuneInString(s[at+len("\u200c"):])
		return joins(before) && joins(after)
	case IsTag(r):
		return isFlag(s, at)
	}
	return false
}

func joins(r rune) bool { return r >= 0x600 && r != utf8.RuneError && !IsUnseen(r) }

// A flag of a region is a black flag, tags, and a cancel tag (UTS #51). No region has a
// code of more than 6 characters.
const (
	blackFlag = "\U0001f3f4"
	cancelTag = 0xe007f
	flagTags  = 7
)

// isFlag reports whether the tag at an offset is part of a region's flag.
func isFlag(s string, at int) bool {
	start := at
	for n := 0; !strings.HasSuffix(s[:start], blackFlag); n++ {
		r, size := utf8.DecodeLastRuneInString(s[:start])
		if n == flagTags || !IsTag(r) || r == cancelTag {
			return false
		}
		start -= size
	}
	for n, r := range []rune(CutBytes(s[start:], 4*flagTags)) {
		switch {
		case r == cancelTag:
			return n > 0
		case !IsTag(r):
			return false
		}
	}
	return false
}
