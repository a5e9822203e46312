package display

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestCut(t *testing.T) {
	tests := []struct {
		s    string
		n    int
		want string
	}{
		{"short", 5, "short"},
		{"short", 4, "sho…"},
		{"", 0, ""},
		{"x", 0, ""},
		{"xy", 1, "…"},
		{"One sentence. Another one", 20, "One sentence."},
		{"One. Another sentence", 18, "One. Another…"},
		{"Version 1.2 of the thing", 14, "Version 1.2…"},
		{"Really? Yes", 8, "Really?"},
		{"words, and more", 8, "words…"},
		{"a longwordwithoutanyblankinside", 20, "a longwordwithoutan…"}, // no cut at the space in the first half
		{"longwordwithoutanyblankinside", 10, "longwordw…"},
		{"処理します。そして次の文が続きます", 8, "処理します。"},
		{"日本語の文章がここにある", 6, "日本語の文…"},
		{"😀😀😀😀", 3, "😀😀…"},
		{"cafe\u0301s", 5, "caf…"},
		{"end of it.", 10, "end of it."},
		{"it ends here. x", 13, "it ends here."},
	}
	for _, tt := range tests {
		if got := Cut(tt.s, tt.n); got != tt.want {
			t.Errorf("Cut(%q, %d) = %q, want %q", tt.s, tt.n, got, tt.want)
		}
	}
}

// TestCutProperties checks that Cut never exceeds the length or cuts a character. It must cut at
// the end of a sentence or word if one is in the second half.
func TestCutProperties(t *testing.T) {
	for seed := range uint64(20000) {
		r := rand.New(rand.NewPCG(seed, 11))
		s := OneLine(randomText(r, r.IntN(40)))
		n := r.IntN(80)
		got := Cut(s, n)
		runes := []rune(s)
		if utf8.RuneCountInString(got) > n || !utf8.ValidString(got) {
			t.Fatalf("Cut(%q, %d) = %q", s, n, got)
		}
		body, cut := strings.CutSuffix(got, "…")
		if got == s || got == "" {
			continue
		}
		if !strings.HasPrefix(s, body) {
			t.Fatalf("Cut(%q, %d) = %q is no beginning", s, n, got)
		}
		rest := runes[utf8.RuneCountInString(body):]
		if !cut && !slices.Contains([]rune(".!?。！？"), runes[utf8.RuneCountInString(body)-1]) {
			t.Fatalf("Cut(%q, %d) = %q does not say that it is cut", s, n, got)
		}
		boundary := rest[0] == ' ' || strings.ContainsRune(" ,;:-", rest[0]) || !cut || isWord(rest[0])
		if !boundary && strings.IndexFunc(string(runes[n/2+1:n]), unicode.IsSpace) >= 0 {
			t.Fatalf("Cut(%q, %d) = %q ends inside a word", s, n, got)
		}
	}
}

var alphabet = []string{"a", "bb", "Word", "é", "日本", "😀", "<", "&", " ", "  ", ". ", "! ", "。", ",", ":", "-", "\n", "\u202e", "e\u0301", strings.Repeat("x", 40)}

func randomText(r *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		b.WriteString(alphabet[r.IntN(len(alphabet))])
	}
	return b.String()
}

func TestLength(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abc": 3, "é日": 2, "😀": 2, "e\u0301": 2} {
		if got := Length(s); got != want {
			t.Errorf("Length(%q) = %d, want %d", s, got, want)
		}
	}
}
