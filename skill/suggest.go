package skill

import (
	"strings"
	"unicode/utf8"
)

// SuggestName proposes a valid name for any text: its words in lower case, without
// the marks on letters, joined by single hyphens. A word that cannot be written
// with a-z and 0-9 is left out; where none is left it is "my-skill".
func SuggestName(s string) string { return suggestName(s) }

// Distance is the number of edits (insert, delete, replace, swap neighbours)
// between two texts, or limit+1 if it is greater.
func Distance(a, b string, limit int) int {
	x, y := []rune(a), []rune(b)
	if d := len(x) - len(y); d > limit || -d > limit {
		return limit + 1
	}
	before, prev, row := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row[0] = i
		least := i
		for j := 1; j <= len(y); j++ {
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
	return min(prev[len(y)], limit+1)
}

// Nearest is the candidate with the fewest edits from what was typed, "" where
// none is near: a third of the letters may differ, at most three. Further off, a
// proposal is a guess.
func Nearest(typed string, candidates []string) (best string) {
	typed = strings.ToLower(CutBytes(typed, 64))
	limit := min(max(utf8.RuneCountInString(typed)/3, 1), 3)
	for _, c := range candidates {
		if d := Distance(typed, strings.ToLower(c), limit); d <= limit {
			best, limit = c, d-1
		}
	}
	return best
}
