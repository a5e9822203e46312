package search

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/typo"
)

// Bounds on one query.
const (
	maxQueryBytes = 1024
	maxQueryWords = 32 // the rest of a longer query is ignored
	// maxMisspelt bounds the words of a query that are checked for misspellings, since each is
	// compared with every term.
	maxMisspelt = 8
	// maxPrefixes and maxTypos bound the terms that one word of a query can match. The closest
	// terms are used.
	maxPrefixes = 64
	maxTypos    = 16
)

// variant is a term that a word of a query can match.
type variant struct {
	part, term int
	how        matchKind
	weight     float32
}

// queryTerm is one word of a query with the terms that it can match.
type queryTerm struct {
	word     string
	typed    bool // false for a word joined from two others
	variants []variant
}

// parse returns the terms that the words of a query can match, and the number of its words.
func (x *index) parse(query string) (all []queryTerm, words int) {
	typed := typedWords(query)
	unknown := 0
	all = make([]queryTerm, 0, 2*len(typed)) // each word, and each pair of neighbours
	for _, w := range distinct(typed) {
		found := []queryTerm{{w, true, x.variants(w)}}
		if len(found[0].variants) == 0 && unknown < maxMisspelt {
			unknown++
			found = x.guess(w)
		}
		for _, f := range found {
			if len(f.variants) > 0 {
				all = append(all, f)
			}
			words++
		}
	}
	for _, w := range joined(typed) {
		if v := x.synonyms(x.terms(nil, w, joinedMatch), w); len(v) > 0 {
			all = append(all, queryTerm{w, false, v})
		}
	}
	return all, words
}

// HasWords reports whether a query has a word to search for.
func HasWords(query string) bool {
	for range queryWords(display.CutBytes(query, maxQueryBytes)) {
		return true
	}
	return false
}

func typedWords(query string) (typed []string) {
	for w := range queryWords(display.CutBytes(query, maxQueryBytes)) {
		if len(typed) == maxQueryWords {
			break
		}
		typed = append(typed, string(w))
	}
	return typed
}

// distinct returns the words to search for, each once. They are sorted, so the order of the words
// in the query changes no score, not even by rounding.
func distinct(typed []string) []string {
	all := slices.Clone(typed)
	slices.Sort(all)
	all = slices.Compact(all)
	significant := slices.DeleteFunc(slices.Clone(all), func(w string) bool { return stop()[w] })
	if len(significant) == 0 {
		return all
	}
	return significant
}

// joined returns the pairs of neighbouring words, each joined into one word.
func joined(typed []string) (all []string) {
	for i := 1; i < len(typed); i++ {
		if w := typed[i-1] + typed[i]; len(w) <= maxWord && !slices.Contains(typed, w) {
			all = append(all, w)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// variants returns the terms that a word can match: the word itself, terms with its stem, its
// synonyms, and terms that begin with it.
func (x *index) variants(word string) []variant {
	all := x.terms(nil, word, exactMatch)
	all = x.stems(all, word, stemMatch)
	all = x.synonyms(all, word)
	letters := utf8.RuneCountInString(word)
	if letters >= 3 || len(all) == 0 && (letters == 2 || word[0] >= utf8.RuneSelf) {
		all = x.beginnings(all, word)
	}
	return all
}

// synonyms adds the terms that are synonyms of the word, with any ending.
func (x *index) synonyms(all []variant, word string) []variant {
	for _, other := range synonymsOf(word) {
		all = x.terms(all, other, synonymMatch)
		all = x.stems(all, other, synonymMatch)
	}
	return all
}

// terms adds the word itself, if it is a term.
func (x *index) terms(all []variant, word string, how matchKind) []variant {
	for p, part := range x.parts {
		if i := part.seg.from(word); i < part.seg.len() && part.seg.term(i) == word && part.has(i) {
			all = append(all, variant{p, i, how, kindWeight[how]})
		}
	}
	return all
}

// farStem is a difference in length. If a term with the same stem is longer or shorter than the
// word by this many letters, its weight is halved: "excellence" is seldom about Excel.
const farStem = 4

// stems adds the terms with the stem of the word, except the word itself.
func (x *index) stems(all []variant, word string, how matchKind) []variant {
	var own, other [maxWord + 1]byte
	want := stem(append(own[:0], word...))
	h := hash(want)
	for p, part := range x.parts {
		s := part.seg
		at, _ := slices.BinarySearch(s.stems, h)
		for ; at < len(s.stems) && s.stems[at] == h; at++ {
			t := int(s.byStem[at])
			if s.term(t) != word && bytes.Equal(stem(append(other[:0], s.term(t)...)), want) && part.has(t) {
				weight := kindWeight[how]
				if n := len(s.term(t)) - len(word); n >= farStem || -n >= farStem {
					weight /= 2
				}
				all = append(all, variant{p, t, how, weight})
			}
		}
	}
	return all
}

// beginnings adds the shortest terms that begin with the word.
func (x *index) beginnings(all []variant, word string) []variant {
	var found []variant
	for p, part := range x.parts {
		s := part.seg
		for i := s.from(word); i < s.len() && strings.HasPrefix(s.term(i), word); i++ {
			same := func(v variant) bool { return v.part == p && v.term == i }
			if s.term(i) != word && !slices.ContainsFunc(all, same) && part.has(i) {
				found = append(found, variant{p, i, prefixMatch, kindWeight[prefixMatch]})
			}
		}
	}
	return append(all, x.closest(found, maxPrefixes, func(v variant) int { return len(x.term(v)) })...)
}

// minTypo is the least sum of the lengths of a word and a term, if one is a misspelling of the
// other. "exel" may be "excel", but "logo" is neither "log" nor "logs".
const minTypo = 9

// guess returns the likely meaning of a word that matches nothing. It tries terms and synonyms that
// differ from the word in one letter, then two terms that together are the word. For a long word,
// it finally tries terms that differ in two letters.
func (x *index) guess(word string) []queryTerm {
	letters := utf8.RuneCountInString(word)
	if letters < 4 {
		return []queryTerm{{word, true, nil}}
	}
	if found := append(x.near(word, 1), x.nearSynonyms(word)...); len(found) > 0 {
		return []queryTerm{{word, true, found}}
	}
	if two := x.split(word); two != nil {
		return two
	}
	if letters < 8 {
		return []queryTerm{{word, true, nil}}
	}
	return []queryTerm{{word, true, x.near(word, 2)}}
}

// nearSynonyms returns the synonyms of each word that differs from the given word in one letter.
func (x *index) nearSynonyms(word string) (all []variant) {
	for _, other := range synonymWords() {
		if len(word)+len(other) >= minTypo && typo.Distance(word, other, 1) <= 1 {
			all = x.synonyms(all, other)
		}
	}
	for i := range all {
		all[i].weight *= kindWeight[typoMatch]
	}
	return all
}

// minPart is the minimum length of each part into which a word is split.
const minPart = 3

// split returns two terms that together are the word, of about equal length, or nil.
func (x *index) split(word string) []queryTerm {
	for at := len(word) / 2; at >= minPart; at-- {
		for _, i := range [...]int{at, len(word) - at} {
			first, second := x.terms(nil, word[:i], typoMatch), x.terms(nil, word[i:], typoMatch)
			if len(first) > 0 && len(second) > 0 {
				return []queryTerm{{word[:i], true, first}, {word[i:], true, second}}
			}
		}
	}
	return nil
}

// near returns the closest terms that differ from the word in at most d letters.
func (x *index) near(word string, d int) (found []variant) {
	set := letterSet(word)
	for p, part := range x.parts {
		for i, other := range part.seg.letters {
			if bitDistance(set, other) > 2*d {
				continue
			}
			term := part.seg.term(i)
			if n := len(term) - len(word); n > d*utf8.UTFMax || -n > d*utf8.UTFMax {
				continue
			}
			if typo.Distance(word, term, d) <= d && utf8.RuneCountInString(word)+utf8.RuneCountInString(term) >= minTypo && part.has(i) {
				found = append(found, variant{p, i, typoMatch, kindWeight[typoMatch] / float32(d)})
			}
		}
	}
	// Terms with the same first letter come first: most people get it right.
	return x.closest(found, maxTypos, func(v variant) int {
		if x.term(v)[0] == word[0] {
			return 0
		}
		return 1
	})
}

func (x *index) term(v variant) string { return x.parts[v.part].seg.term(v.term) }

// closest returns the n terms with the lowest ranks, in alphabetical order within a rank. A term
// that is in several parts counts once.
func (x *index) closest(found []variant, n int, rank func(variant) int) []variant {
	if len(found) <= n {
		return found
	}
	slices.SortFunc(found, func(a, b variant) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(x.term(a), x.term(b)), a.part-b.part)
	})
	last := ""
	for i, v := range found {
		if term := x.term(v); term != last {
			if n--; n < 0 {
				return found[:i]
			}
			last = term
		}
	}
	return found
}

// has reports whether a live document has the term.
func (p part) has(term int) (yes bool) {
	if p.live == len(p.places) {
		return true
	}
	p.seg.each(term, func(doc uint32, _ byte) { yes = yes || p.places[doc] != gone })
	return yes
}
