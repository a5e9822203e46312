package display

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestColumns(t *testing.T) {
	for s, want := range map[string]int{
		"":                0,
		"git":             3,
		"Größe":           5,
		"Gro\u0308ße":     5, // a letter and a combining mark
		"技能":              4,
		"한글":              4,
		"ｶﾅ":              2, // half-width
		"✅ ok":            5,
		"❤\ufe0f":         2, // a picture of a sign
		"🇩🇪":              2, // two letters of one column
		"नी":              2, // a vowel sign that takes a column
		"שָׁלוֹם":         4, // vowel points take no column
		"a\u200bb\u2060c": 3,
	} {
		if got := Columns(s); got != want {
			t.Errorf("%q: %d columns, want %d", s, got, want)
		}
	}
}

func TestCutColumns(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"short", 10, "short"},
		{"use when words are cut", 12, "use when…"},
		{"技能在哪里都可以找到", 9, "技能在哪…"},
		{"技能在哪里都可以找到", 20, "技能在哪里都可以找到"},
		{"技能", 1, "…"},
	} {
		if got := CutColumns(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		text           string
		first, columns int
		want           string
	}{
		{"", 5, 5, ""},
		{"one two three", 7, 5, "one two|three"},
		{"one two three", 13, 5, "one two three"},
		{"one   two", 4, 4, "one|two"},
		{"    indented words", 10, 8, "    indented|words"},
		{"unbreakable x", 4, 4, "unbreakable|x"},
		{"\x1b[1mbold\x1b[0m word", 9, 9, "\x1b[1mbold\x1b[0m word"},
		{"\x1b[1mbold\x1b[0m word", 8, 8, "\x1b[1mbold\x1b[0m|word"},
		{"技能在哪里", 6, 4, "技能在|哪里"},
		{"ends with blanks   ", 16, 16, "ends with blanks   "},
	} {
		if got := strings.Join(Wrap(c.text, c.first, c.columns), "|"); got != c.want {
			t.Errorf("%q in %d and %d columns: %q, want %q", c.text, c.first, c.columns, got, c.want)
		}
	}
}

// FuzzColumns checks that a cut text fits, and that breaking a text loses only spaces.
func FuzzColumns(f *testing.F) {
	f.Add("技能 ok ❤\ufe0f word", 7)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		if !utf8.ValidString(s) || columns < 1 || columns > 200 {
			return
		}
		if cut := CutColumns(s, columns); Columns(cut) > columns {
			t.Errorf("%q in %d columns: %q", s, columns, cut)
		}
		if got := strings.Join(Wrap(s, columns, columns), ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(s, " ", "") {
			t.Errorf("%q in %d columns: %q", s, columns, got)
		}
	})
}
