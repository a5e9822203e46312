package web

import (
	"strings"
	"testing"
)

// FuzzContainsFold checks that the search without a copy agrees with the search in a
// lowered copy.
func FuzzContainsFold(f *testing.F) {
	for _, text := range []string{"", "a", "The TIDE in the harbour.", "Gr\u00f6\u00dfe und TIDE", "TI\u0130DE", "tid", "\u212aelvin", "x\xffTIDE", "AaAb"} {
		for _, word := range []string{"", "tide", "gr\u00f6", "k", "tid", "aab", "harbour.", "i\u0307d", "\xff", "e"} {
			f.Add(text, word)
		}
	}
	f.Fuzz(func(t *testing.T, text, word string) {
		word = strings.ToLower(word)
		if got, want := containsFold(text, word), strings.Contains(strings.ToLower(text), word); got != want {
			t.Errorf("%q in %q: %v, want %v", word, text, got, want)
		}
	})
}
