// Package typo guesses the intended word, key or file name for a misspelt one.
package typo

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// Distance returns the number of edits that turn one text into the other, or limit+1 if that takes
// more than limit. An edit inserts, deletes or replaces a character, or swaps two neighbours.
func Distance(a, b string, limit int) int {
	var bufA, bufB [64]rune
	x, y := runes(a, bufA[:0]), runes(b, bufB[:0])
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	var rows [3 * 65]int
	all := rows[:]
	if need := 3 * (len(y) + 1); need > len(all) {
		all = make([]int, need)
	}
	n := len(y) + 1
	before, prev, row := all[:n], all[n:2*n], all[2*n:3*n]
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j < n; j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(prev[j]+1, row[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
			least = min(least, row[j])
		}
		if least > limit {
			return limit + 1
		}
		before, prev, row = prev, row, before
	}
	return min(prev[n-1], limit+1)
}

// runes returns the characters of s. It uses buf if they fit.
func runes(s string, buf []rune) []rune {
	if utf8.RuneCountInString(s) > cap(buf) {
		return []rune(s)
	}
	for _, r := range s {
		buf = append(buf, r)
	}
	return buf
}

// Nearest returns the candidate with the fewest edits from the typed text, or "" if none is near.
// At most a third of the letters may differ, and at most three.
func Nearest(typed string, candidates []string) (best string) {
	typed = strings.ToLower(display.CutBytes(typed, 64))
	limit := min(max(utf8.RuneCountInString(typed)/3, 1), 3)
	for _, c := range candidates {
		if d := Distance(typed, strings.ToLower(c), limit); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}

// Hint returns a hint for a text that is not one of the given words. The hint names the nearest
// word or, if none is near, the words that begin with the text. If there are none, Hint returns
// otherwise.
func Hint(typed string, words []string, otherwise string) string {
	if best := Nearest(typed, words); best != "" {
		return "did you mean " + best + "?"
	}
	begin := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, typed) })
	if typed == "" || len(begin) == 0 {
		return otherwise
	}
	return "did you mean " + strings.Join(begin, " or ") + "?"
}
