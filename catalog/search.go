package catalog

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"github.com/knack-dev/knack/skill"
)

// Search ranks the skills that a model may load by how well name and description
// answer the query: words in the name weigh most, then beginnings of words, then
// words in the description. Without a query it returns all of them: the listing,
// then the shadowed ones, which no listing shows. Copies are left out. The order
// is deterministic, and of equals the listed come first.
func (s *Snapshot) Search(query string) []*Entry {
	words := wordsOf(skill.CutBytes(query, 1024))
	slices.Sort(words)
	words = slices.Compact(words)
	words = words[:min(len(words), 64)] // beyond that a query is no question
	if len(words) == 0 {
		return slices.Clone(s.searched)
	}
	type hit struct {
		e     *Entry
		score int
		order int
	}
	var hits []hit
	for i, e := range s.searched {
		if n := score(e, words); n > 0 {
			hits = append(hits, hit{e, n, i})
		}
	}
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(b.score-a.score, a.order-b.order) })
	out := make([]*Entry, len(hits))
	for i, h := range hits {
		out[i] = h.e
	}
	return out
}

func score(e *Entry, words []string) int {
	name, description := wordsOf(e.Name), wordsOf(e.Description)
	total := 0
	for _, w := range words {
		switch {
		case slices.Contains(name, w):
			total += 8
		case hasPrefix(name, w):
			total += 4
		}
		switch {
		case slices.Contains(description, w):
			total += 2
		case hasPrefix(description, w):
			total++
		}
	}
	return total
}

func hasPrefix(all []string, prefix string) bool {
	return slices.ContainsFunc(all, func(w string) bool { return strings.HasPrefix(w, prefix) })
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(string(skill.KeyOf(text)), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
}
