package search

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// FuzzSearch checks the hits for any document and query. The hits are sorted, are the same each
// time and for each way to build the index, and all have a reason. Words are bounded, and folding a
// word twice has no further effect.
func FuzzSearch(f *testing.F) {
	f.Add("git-commit", "Writes commit messages", "# Größe\n数据分析", "c++, tags", "comit größe 数据")
	f.Add("", "\xff\x00", strings.Repeat("a\u0301", 100), "ﷺ", "'s ++ #")
	f.Add("kubernetes", "kubernets kubernete", "", "", "kubentes kube")
	f.Fuzz(func(t *testing.T, name, description, headings, tags, query string) {
		for _, text := range []string{name, description, headings, tags, query} {
			for w := range words(display.CutBytes(text, maxFieldBytes)) {
				if len(w) == 0 || len(w) > maxWord || !utf8.Valid(w) {
					t.Fatalf("%q has the word %q", text, w)
				}
				if s := stem(append([]byte{}, w...)); len(s) > len(w)+1 {
					t.Fatalf("%q has the stem %q", w, s)
				}
			}
		}
		docs := []Doc{
			{Name: name, Description: description, Headings: strings.Split(headings, "\n"), Tags: strings.Split(tags, ",")},
			{Name: "other", Description: name}, {Name: tags, Headings: []string{description}}, {Description: "kubernetes commits", Tags: []string{query}},
		}
		at := func(places []int) (out []Doc) {
			for _, i := range places {
				out = append(out, docs[i])
			}
			return out
		}
		keys := []int{0, 1, 2, 3}
		x := new(Index[int]).Update(keys, at)
		step := new(Index[int]).Update([]int{3, 7, 0}, func(places []int) []Doc { return []Doc{docs[3], {Name: query}, docs[0]}[:len(places)] }).Update(keys, at)
		for _, q := range []string{query, firstWord(name), firstWord(description)} {
			got := x.Search(q, nil, Options{Explain: true})
			if other := step.Search(q, nil, Options{Explain: true}); !reflect.DeepEqual(got, other) {
				t.Fatalf("%q: %v, and in steps %v", q, got, other)
			}
			if len(got.Hits) != got.Total {
				t.Fatalf("%q: %d hits of %d", q, len(got.Hits), got.Total)
			}
			for i, h := range got.Hits {
				if len(h.Matches) == 0 || h.Score <= 0 || math.IsNaN(float64(h.Score)) || math.IsInf(float64(h.Score), 0) || i > 0 && compareHits(got.Hits[i-1], h) >= 0 {
					t.Fatalf("%q: hit %d of %v", q, i, got.Hits)
				}
			}
			if q != query && q != "" && got.Total == 0 {
				t.Fatalf("%q stands there and is not found", q)
			}
		}
	})
}

// firstWord returns the first indexed word of a text that fits into a query, or "".
func firstWord(text string) string {
	if len(text) > maxQueryBytes {
		return "" // the word may be cut
	}
	for w := range words(text) {
		return string(w)
	}
	return ""
}
