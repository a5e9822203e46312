package typo

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
)

func TestDistance(t *testing.T) {
	for _, tt := range []struct {
		a, b  string
		limit int
		want  int
	}{
		{"", "", 2, 0}, {"git", "git", 0, 0}, {"git", "got", 2, 1}, {"git", "gti", 2, 1}, {"git", "gi", 2, 1}, {"git", "gist", 2, 1}, {"git", "", 3, 3}, {"git", "", 2, 3},
		{"kubernetes", "kuberentes", 2, 1}, {"kubernetes", "kubrnets", 2, 2}, {"abc", "xyz", 2, 3}, {"größe", "grösse", 2, 2}, {"größe", "grüße", 1, 1}, {"数据", "据数", 1, 1},
		{strings.Repeat("a", 100), strings.Repeat("a", 101), 1, 1}, {strings.Repeat("a", 100), strings.Repeat("b", 100), 3, 4},
	} {
		for range 2 {
			if got := Distance(tt.a, tt.b, tt.limit); got != tt.want {
				t.Errorf("%.20q, %.20q: %d, want %d", tt.a, tt.b, got, tt.want)
			}
			tt.a, tt.b = tt.b, tt.a
		}
	}
}

// FuzzDistance checks that Distance is a metric for short texts, and agrees with its recursive
// definition.
func FuzzDistance(f *testing.F) {
	f.Add("kubernetes", "kuberentes")
	f.Add("größe", "grösse")
	f.Fuzz(func(t *testing.T, a, b string) {
		x, y := []rune(display.CutBytes(a, 12)), []rune(display.CutBytes(b, 12))
		a, b = string(x), string(y)
		want := edits(x, y)
		for limit := range 4 {
			if got := Distance(a, b, limit); got != min(want, limit+1) {
				t.Fatalf("%q, %q, at most %d: %d, want %d", a, b, limit, got, want)
			}
		}
	})
}

// edits returns the optimal string alignment distance, computed by its definition.
func edits(x, y []rune) int {
	known := map[[2]int]int{}
	var distance func(i, j int) int
	distance = func(i, j int) (n int) {
		if i == 0 || j == 0 {
			return i + j
		}
		if n, ok := known[[2]int{i, j}]; ok {
			return n
		}
		defer func() { known[[2]int{i, j}] = n }()
		n = distance(i-1, j-1)
		if x[i-1] != y[j-1] {
			n++
		}
		n = min(n, distance(i-1, j)+1, distance(i, j-1)+1)
		if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
			n = min(n, distance(i-2, j-2)+1)
		}
		return n
	}
	return distance(len(x), len(y))
}
