package display

import (
	"testing"
	"unicode"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// TestFoldCase compares the folding of each character with golang.org/x/text/cases. That package
// swaps the cases of Cherokee, so for a Cherokee letter the test only checks that its two cases
// fold to the same text.
func TestFoldCase(t *testing.T) {
	folder := cases.Fold()
	for r := rune(0); r < 0x20000; r++ { // higher planes have no letters with a case
		if unicode.In(r, unicode.Han, unicode.Hangul, unicode.Cs, unicode.Co) {
			continue
		}
		text := norm.NFD.String(string(r))
		got, want := FoldCase(text), folder.String(text)
		if unicode.Is(unicode.Cherokee, r) {
			want = FoldCase(string(unicode.ToUpper(r)))
		}
		if got != want || FoldCase(got) != got {
			t.Errorf("%U: %q, want %q", r, got, want)
		}
	}
	for text, want := range map[string]string{"": "", "Straße A\xffB\xc3": "strasse a\xffb\xc3", "\xe2\x82A\ufffdB": "\xe2\x82a\ufffdb"} {
		if got := FoldCase(text); got != want || got != folder.String(text) {
			t.Errorf("%q: %q", text, got)
		}
	}
}
