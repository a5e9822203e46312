package frontmatter

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// TestBadControlAnywhere checks that a control character is found at any position, among any
// characters.
func TestBadControlAnywhere(t *testing.T) {
	for _, around := range []string{"abcdefghijklmnopqrstuvwxyz", "a line\nand\tanother\r\n", "éa日b😀"} {
		text := strings.Repeat(around, 80/len(around)+1)
		if got := indexBadControl(text); got != len(text) {
			t.Fatalf("%q: %d", text, got)
		}
		for at := range text {
			for _, bad := range []string{"\x00", "\v", "\x1f", "\x7f", "\u0080", "\u009f"} {
				if got := indexBadControl(text[:at] + bad + text[at:]); got != at {
					t.Errorf("%q at %d of %q: %d", bad, at, text, got)
				}
			}
			for _, good := range []string{" ", "~", "\u00a0", "\n", "\t"} {
				if got := indexBadControl(text[:at] + good + text[at:]); got != len(text)+len(good) {
					t.Errorf("%q at %d of %q: %d", good, at, text, got)
				}
			}
		}
	}
}

// TestSurveyIsWide checks that scanBytes finds the first character that is not ASCII, at most seven
// bytes too early.
func TestSurveyIsWide(t *testing.T) {
	text := strings.Repeat("a line\nof ASCII, ", 6)
	if wide, _ := scanBytes(text); wide != len(text) {
		t.Errorf("ASCII is wide at %d", wide)
	}
	for at := range text {
		if wide, _ := scanBytes(text[:at] + "é" + text[at:]); wide > at || wide < at-7 {
			t.Errorf("what is wide at %d is said to be so at %d", at, wide)
		}
	}
}

// FuzzBadControl checks that scanBytes finds the same control character as [strings.IndexFunc], and
// that the text before wide is ASCII.
func FuzzBadControl(f *testing.F) {
	for _, s := range []string{"", "a\tb\r\n", "\x7f", "é\x01", "\u0085", "\u00a0", "a\u009fb", "\xc2",
		"\n\vabcdef", "abcdef\n\x01", "\n\n\n\n\n\n\n\x7f", "\x1f\nabcdef", "\r\n\tabcde", "abcdefg\n\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		wide, control := scanBytes(s)
		want := strings.IndexFunc(s, isBadControl)
		if want < 0 {
			want = len(s)
		}
		if utf8.ValidString(s) && control != want {
			t.Errorf("%q: a control character at %d, not %d", s, control, want)
		}
		if !display.IsASCII(s[:wide]) || display.IsASCII(s) && wide < min(want, len(s)) || utf8.ValidString(s[wide:]) != utf8.ValidString(s) {
			t.Errorf("%q: ASCII until %d", s, wide)
		}
	})
}
