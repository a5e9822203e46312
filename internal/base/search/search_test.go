package search

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/knack-dev/knack/internal/test/difftest"
)

// indexOf returns an index of documents, with their names as keys.
func indexOf(docs ...Doc) *Index[string] {
	keys := make([]string, len(docs))
	for i, d := range docs {
		keys[i] = d.Name
	}
	return new(Index[string]).Update(keys, func(places []int) (out []Doc) {
		for _, i := range places {
			out = append(out, docs[i])
		}
		return out
	})
}

// found returns the keys that a query finds.
func found(x *Index[string], query string) (keys []string) {
	for _, h := range x.Search(query, nil, Options{}).Hits {
		keys = append(keys, x.Keys()[h.Doc])
	}
	return keys
}

var shelf = indexOf(
	Doc{Name: "git", Description: "Commits and branches"},
	Doc{Name: "gitlab", Description: "Merge requests"},
	Doc{Name: "commit", Description: "Writes messages for git"},
	Doc{Name: "zebra", Description: "Stripes, and how to deploy them", Headings: []string{"Counting stripes", "Kubernetes"}},
	Doc{Name: "strasse", Description: "Große ÄPFEL", Tags: []string{"Obst", "fruit & veg"}},
	Doc{Name: "deployments", Description: "Puts it in production"},
	Doc{Name: "变更日志", Description: "从提交生成变更日志"},
	Doc{Name: "changelog-writer", Description: "Notes for each release, in C++"},
)

func TestSearch(t *testing.T) {
	for query, want := range map[string][]string{
		"": nil, " ,. ": nil, "nothing": nil,
		"git": {"git", "gitlab", "commit"}, "GIT git, git!": {"git", "gitlab", "commit"},
		"git commit": {"commit", "git"}, "commit git": {"commit", "git"},
		"GROSSE apfel": {"strasse"}, "äp": {"strasse"}, "obst": {"strasse"}, "fruit": {"strasse"}, "stripe": {"zebra"},
		"how to deploy": {"deployments", "zebra"}, "deploying": {"deployments", "zebra"},
		"kuberentes": {"zebra"}, "kubernets": {"zebra"}, "zbera": {"zebra"}, "kubentes": {"zebra"}, "kubnts": nil, "zbr": nil,
		"日志": {"变更日志"}, "志": {"变更日志"}, "生成": {"变更日志"}, "日更": nil,
		"change log": {"changelog-writer"}, "c++": {"changelog-writer"}, "to": {"zebra"},
		"how do i do the": {"zebra"}, "zebrx": {"zebra"}, "k8s": {"zebra"},
	} {
		difftest.Same(t, found(shelf, query), want, query)
	}
}

func TestExplain(t *testing.T) {
	for query, want := range map[string]string{
		"git":           "git: git~git in name exact; gitlab: git~gitlab in name prefix; commit: git~git in description exact",
		"Stripe count":  "zebra: count~counting in text stem, stripe~stripes in description stem, stripe~stripes in text stem",
		"change log":    "changelog-writer: change~changelog in name prefix, changelog~changelog in name joined",
		"VEG große":     "strasse: grosse~grosse in description exact, veg~veg in tags exact",
		"kuberentes":    "zebra: kuberentes~kubernetes in text typo",
		"k8s":           "zebra: k8s~kubernetes in text synonym",
		"deploy zebras": "zebra: deploy~deploy in description exact, zebras~zebra in name stem",
	} {
		var got []string
		for _, h := range shelf.Search(query, nil, Options{Explain: true}).Hits {
			var why []string
			for _, m := range h.Matches {
				why = append(why, fmt.Sprintf("%s~%s in %s %s", m.Word, m.Term, m.Field, m.How))
			}
			got = append(got, shelf.Keys()[h.Doc]+": "+strings.Join(why, ", "))
		}
		difftest.Same(t, strings.Join(got, "; "), want, query)
	}
	if h := shelf.Search("git", nil, Options{}).Hits[0]; h.Matches != nil {
		t.Errorf("unasked: %v", h.Matches)
	}
}

// TestWeight checks that a document of weight 0 is neither found nor counted, and does not change
// the order of the others.
func TestWeight(t *testing.T) {
	all := shelf.Search("git", nil, Options{})
	without := func(hidden ...string) func(int) float32 {
		return func(doc int) float32 {
			if slices.Contains(hidden, shelf.Keys()[doc]) {
				return 0
			}
			return 1
		}
	}
	r := shelf.Search("git", without("git", "zebra"), Options{})
	difftest.Same(t, r, Result{Hits: all.Hits[1:], Total: 2}, "hits")
	difftest.Same(t, shelf.Search("git", without(shelf.Keys()...), Options{}), Result{}, "none")
	half := shelf.Search("git", func(doc int) float32 { return 0.5 }, Options{})
	for i, h := range half.Hits {
		difftest.Same(t, h.Score, all.Hits[i].Score/2, "half")
	}
}

// TestUnknownWords checks the meaning of a word that no document has. It may be a misspelt synonym,
// or two words written as one. A term with one wrong letter comes first.
func TestUnknownWords(t *testing.T) {
	x := indexOf(Doc{Name: "pptx", Description: "Decks."}, Doc{Name: "crawler", Description: "For web scraping."}, Doc{Name: "brush", Description: "A webscrapng tool."}, Doc{Name: "y", Description: "Code for a web."}, Doc{Name: "ios"})
	for query, want := range map[string][]string{
		"powerpiont": {"pptx"}, "powerpoin": {"pptx"}, "iphnoe": {"ios"}, "powrpiont": nil, "pwrpiont": nil, "iph": nil,
		"webscraping": {"brush"}, "scrapingweb": {"crawler", "y"}, "scrapingwbe": nil, "forweb": {"crawler", "y"},
	} {
		difftest.Same(t, found(x, query), want, query)
	}
}

// TestRare checks that a rare word counts more than a word in every document.
func TestRare(t *testing.T) {
	var docs []Doc
	for i := range 10 {
		docs = append(docs, Doc{Name: fmt.Sprint("x", i), Description: "common"})
	}
	difftest.Same(t, found(indexOf(append(docs, Doc{Name: "last", Description: "rare"})...), "common rare")[0], "last", "first")
}

// TestRelevant checks that a document with less than a fifth of the best score is not found,
// whatever the weights and the limit are.
func TestRelevant(t *testing.T) {
	docs := []Doc{{Name: "red green blue"}, {Name: "x", Description: strings.Repeat("white ", 400) + "red"}, {Name: "y"}, {Name: "z"}}
	x := indexOf(docs...)
	difftest.Same(t, x.Search("red green blue", nil, Options{Limit: 9}).Total, 1, "below the cut")
	first := func(doc int) float32 { return []float32{0, 1, 1, 1}[doc] }
	difftest.Same(t, x.Search("red green blue", first, Options{}).Total, 1, "the best is hidden")
	for _, h := range shelf.Search("git commit deploy", nil, Options{}).Hits {
		if best := shelf.Search("git commit deploy", nil, Options{Limit: 1}).Hits[0].Score; h.Score < best*relevant {
			t.Errorf("%s has %v of %v", shelf.Keys()[h.Doc], h.Score, best)
		}
	}
}

// TestFarStems checks that the weight of a term is halved if it is much longer or shorter than a
// word with the same stem.
func TestFarStems(t *testing.T) {
	difftest.Same(t, found(indexOf(Doc{Name: "code excellence"}, Doc{Name: "xlsx"}, Doc{Name: "a"}), "excel")[0], "xlsx", "a far stem and a synonym")
	x := indexOf(Doc{Name: "deployments"}, Doc{Name: "deployed"})
	hits := x.Search("deploy", nil, Options{}).Hits
	difftest.Same(t, hits[0].Score, 2*hits[1].Score, "half")
}

// TestShortTypos checks that two short words do not count as misspellings of each other.
func TestShortTypos(t *testing.T) {
	x := indexOf(Doc{Name: "log"}, Doc{Name: "jobs"}, Doc{Name: "excel"}, Doc{Name: "json"})
	for query, want := range map[string][]string{"logo": nil, "jobz": nil, "exel": {"excel"}, "jsoon": {"json"}} {
		difftest.Same(t, found(x, query), want, query)
	}
}

// TestOrderOfWords checks that the order of the words in a query, and repeated words, have no
// effect.
func TestOrderOfWords(t *testing.T) {
	want := shelf.Search("commit git", nil, Options{Explain: true})
	for _, q := range []string{"git commit", "git git commit git", "Commit, GIT commit."} {
		difftest.Same(t, shelf.Search(q, nil, Options{Explain: true}), want, q)
	}
}

// TestLimit checks that equally good documents keep their order, and that a limit only cuts the
// list.
func TestLimit(t *testing.T) {
	var docs []Doc
	for i := range 300 {
		docs = append(docs, Doc{Name: fmt.Sprintf("s%03d", i), Description: "thing" + strings.Repeat(" thing", i*7%5)})
	}
	x := indexOf(docs...)
	all := x.Search("thing", nil, Options{})
	if len(all.Hits) != 300 || all.Total != 300 || !slices.IsSortedFunc(all.Hits, compareHits) {
		t.Fatalf("%d of %d hits", len(all.Hits), all.Total)
	}
	for i, h := range all.Hits[1:] {
		if last := all.Hits[i]; h.Score == last.Score && h.Doc < last.Doc {
			t.Errorf("of equals, %d comes before %d", last.Doc, h.Doc)
		}
	}
	for _, n := range []int{1, 2, 3, 10, 299, 300, 301, 1000} {
		difftest.Same(t, x.Search("thing", nil, Options{Limit: n}), Result{Hits: all.Hits[:min(n, 300)], Total: 300}, fmt.Sprint(n))
	}
}

// lines returns random documents of few different words, so that they share many words.
func lines(r *rand.Rand, n int) map[string]Doc {
	vocabulary := strings.Fields("git commit commits deploy deployed deploying deployments kubernetes kubernets docker dockerfile c++ change log changelog 数据 分析 größe grosse test tests testing tester use the of")
	some := func(n int) string {
		var out []string
		for range r.IntN(n + 1) {
			out = append(out, vocabulary[r.IntN(len(vocabulary))])
		}
		return strings.Join(out, " ")
	}
	docs := map[string]Doc{}
	for range n {
		name := fmt.Sprintf("d%d %s", r.IntN(1_000_000), some(2))
		docs[name] = Doc{Name: name, Description: some(12), Tags: strings.Fields(some(2)), Headings: []string{some(5), some(100)}}
	}
	return docs
}

// TestUpdate checks that an index after many updates gives the same answers as a new one, to the
// last bit of each score, and that Update reads only new documents.
func TestUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("thousands of documents")
	}
	queries := []string{"git", "deploy", "test kubernets", "the", "数", "d1", "d", "change log c++", "kubernetse grosse", "dock", "testin use of"}
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		world := lines(r, 1+r.IntN(200))
		x := new(Index[string])
		for range 25 {
			for _, k := range slices.Sorted(maps.Keys(world)) {
				if r.IntN(20) == 0 {
					delete(world, k)
				}
			}
			for k, d := range lines(r, r.IntN(1+r.IntN(80))) {
				if _, ok := world[k]; !ok { // a key always means the same document
					world[k] = d
				}
			}
			keys := slices.Sorted(maps.Keys(world))
			r.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			had := map[string]bool{}
			for _, k := range x.Keys() {
				had[k] = true
			}
			read := func(places []int) (docs []Doc) {
				for _, i := range places {
					if had[keys[i]] {
						t.Fatalf("reads %q again", keys[i])
					}
					docs = append(docs, world[keys[i]])
				}
				return docs
			}
			x = x.Update(keys, read)
			had = nil
			fresh := new(Index[string]).Update(keys, read)
			for _, q := range queries {
				o := Options{Explain: true}
				if got, want := x.Search(q, nil, o), fresh.Search(q, nil, o); !reflect.DeepEqual(got, want) {
					difftest.Same(t, got, want, q)
				}
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			live, all := 0, 0
			for _, p := range x.core.parts {
				live, all = live+p.live, all+len(p.places)
			}
			if live != len(keys) || all > 2*live || len(x.core.parts) > 9 {
				t.Fatalf("%d parts with %d documents, %d of them live, want %d", len(x.core.parts), all, live, len(keys))
			}
		}
	}
}

// TestGone checks that a deleted document leaves no trace. A word that only this document contained
// is unknown again, so it can be a misspelling, and its memory is released.
func TestGone(t *testing.T) {
	docs := map[string]Doc{"kubernetse": {Name: "kubernetse"}, "kubernetes": {Name: "kubernetes"}}
	for i := range 100 {
		k := fmt.Sprintf("filler%d", i)
		docs[k] = Doc{Name: k}
	}
	update := func(x *Index[string], keys []string) *Index[string] {
		return x.Update(keys, func(places []int) (out []Doc) {
			for _, i := range places {
				out = append(out, docs[keys[i]])
			}
			return out
		})
	}
	keys := slices.Sorted(maps.Keys(docs))
	x := update(new(Index[string]), keys)
	difftest.Same(t, found(x, "kubernetse"), []string{"kubernetse"}, "while it is there")
	x = update(x, slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == "kubernetse" }))
	if p := x.core.parts[0]; p.live == len(p.places) {
		t.Error("the test is to look into a part with gaps")
	}
	difftest.Same(t, found(x, "kubernetse"), []string{"kubernetes"}, "when it is gone")
	x = update(x, keys[:40])
	if p := x.core.parts[0]; len(p.places) != 40 {
		t.Errorf("%d places for 40 documents", len(p.places))
	}
	twice := update(x, []string{"filler1", "filler1", "filler2"})
	for range 2 { // keys should differ; if they do not, each position counts as a document
		difftest.Same(t, twice.Search("filler1", nil, Options{}).Total, 2, "twice")
		twice = update(twice, twice.Keys())
	}
	live := 0
	for _, p := range twice.core.parts {
		live += p.live
	}
	difftest.Same(t, live, 3, "documents")
}

// TestUpdateChangesKeys checks that read may change the key of a document.
func TestUpdateChangesKeys(t *testing.T) {
	keys := []string{"a", "b"}
	doc := func(places []int) (docs []Doc) {
		for _, i := range places {
			docs = append(docs, Doc{Name: keys[i]})
			keys[i] += "?"
		}
		return docs
	}
	x := new(Index[string]).Update(keys, doc)
	difftest.Same(t, x.Keys(), []string{"a?", "b?"}, "keys")
	read := 0
	x.Update([]string{"a", "b?"}, func(places []int) []Doc { read += len(places); return make([]Doc, len(places)) })
	difftest.Same(t, read, 1, "read again")
}

func TestEmpty(t *testing.T) {
	difftest.Same(t, new(Index[int]).Search("git", nil, Options{Explain: true}), Result{}, "the zero value")
	x := shelf.Update(nil, nil)
	difftest.Same(t, x.Search("git", nil, Options{}), Result{}, "all gone")
	difftest.Same(t, len(x.Keys()), 0, "keys")
	difftest.Same(t, found(indexOf(Doc{}, Doc{Name: "x"}), "x"), []string{"x"}, "a document of nothing")
}

// TestBounds checks that the text of a document or a query beyond its bound is not read.
func TestBounds(t *testing.T) {
	many := strings.Repeat("word ", 1_000_000)
	x := indexOf(Doc{Name: strings.Repeat("n ", 1000) + "lost", Description: many + "lost", Headings: []string{many, "lost"}, Tags: []string{many, "lost"}}, Doc{Name: "other"})
	difftest.Same(t, found(x, "lost"), []string(nil), "beyond the bound")
	difftest.Same(t, len(found(x, "word")), 1, "within it")
	for i := range maxWords {
		if n := int(x.core.parts[0].seg.lengths[0][i]); n != min(maxWords[i]/unit[i], 255) {
			t.Errorf("%s has the length %d", fieldID(i), n)
		}
	}
	difftest.Same(t, found(x, strings.Repeat("x ", maxQueryBytes)+"other"), []string(nil), "a long query")
	difftest.Same(t, found(x, strings.Repeat(" ", maxQueryBytes)+"other"), []string(nil), "far behind blanks")
	difftest.Same(t, found(indexOf(Doc{Name: "x", Description: strings.Repeat(" ", maxFieldBytes) + "lost"}), "lost"), []string(nil), "a text far behind blanks")
	if HasWords(strings.Repeat(" ", maxQueryBytes)+"x") || HasWords("... -") || !HasWords(" x") {
		t.Error("HasWords sees what a search does not, or not what it does")
	}
	unknown := "xxxxa xxxxb xxxxc xxxxd xxxxe xxxxf xxxxg"
	difftest.Same(t, found(x, unknown+" zther"), []string{"other"}, "few misspelt words")
	difftest.Same(t, found(x, unknown+" xxxxh zther"), []string(nil), "many misspelt words")
	often := indexOf(Doc{Name: "x", Description: strings.Repeat("often ", 9), Headings: []string{strings.Repeat("again ", 9)}})
	difftest.Same(t, often.Search("often again", nil, Options{Explain: true}).Hits[0].Matches,
		[]Match{{"again", "again", "text", "exact"}, {"often", "often", "description", "exact"}}, "more often than is counted")
	difftest.Same(t, found(x, strings.Repeat("x ", maxQueryWords)+"other"), []string(nil), "a query of many words")
	difftest.Same(t, found(x, strings.Repeat("x ", maxQueryWords-1)+"other"), []string{"other"}, "one less")
}

// TestBeginning checks that the first words of a document's beginning, without stop words, count
// like words of headings.
func TestBeginning(t *testing.T) {
	var telling []string
	for i := range maxBeginning + 1 {
		telling = append(telling, fmt.Sprint("word", i))
	}
	x := indexOf(Doc{Name: "x", Description: "to", Beginning: "How to do the " + strings.Join(telling, " and ")}, Doc{Name: "y"})
	difftest.Same(t, x.Search("word0", nil, Options{Explain: true}).Hits[0].Matches, []Match{{"word0", "word0", "text", "exact"}}, "a word")
	difftest.Same(t, len(x.core.terms(nil, telling[maxBeginning-1], exactMatch)), 1, "the last")
	difftest.Same(t, len(x.core.terms(nil, telling[maxBeginning], exactMatch)), 0, "one too many")
	difftest.Same(t, found(x, "and how"), []string(nil), "no telling word")
	one := indexOf(Doc{Name: "a", Headings: []string{"red"}, Beginning: "blue"}, Doc{Name: "b", Headings: []string{"blue"}, Beginning: "red"})
	hits := one.Search("red", nil, Options{}).Hits
	difftest.Same(t, hits[0].Score, hits[1].Score, "scores")
}

// TestPostings checks that postings of every frequency and distance are read as they were written.
func TestPostings(t *testing.T) {
	var packed []byte
	for b := range 256 {
		if b != 0 {
			packed = append(packed, byte(b))
		}
	}
	var w writer
	w.begin("word")
	doc := uint32(0)
	var want [][2]uint32
	for i, b := range packed {
		doc += uint32(i * i * i)
		w.add(doc, b)
		want = append(want, [2]uint32{doc, uint32(b)})
	}
	w.end()
	w.begin("gone")
	w.end()
	s := w.done(nil)
	var got [][2]uint32
	s.each(0, func(doc uint32, packed byte) { got = append(got, [2]uint32{doc, uint32(packed)}) })
	difftest.Same(t, got, want, "postings")
	difftest.Same(t, s.len(), 1, "terms")
	difftest.Same(t, s.term(0), "word", "term")
}

// TestManyBeginnings checks that a query's word matches the shortest terms if very many terms begin
// with it.
func TestManyBeginnings(t *testing.T) {
	var docs []Doc
	for i := range 1000 {
		docs = append(docs, Doc{Name: fmt.Sprintf("word%d%s", i, strings.Repeat("x", 999-i)[:min(10, 999-i)])})
	}
	x := indexOf(docs...)
	got := found(x, "word")
	difftest.Same(t, len(got), maxPrefixes, "how many")
	if !slices.Contains(got, "word999") || slices.Contains(got, "word500xxxxxxxxxx") {
		t.Errorf("not the shortest: %v", got)
	}
}

func TestAtOnce(t *testing.T) {
	want := shelf.Search("git commit stripe", nil, Options{Explain: true})
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				difftest.Same(t, shelf.Search("git commit stripe", nil, Options{Explain: true}), want, "answer")
				indexOf(Doc{Name: "git"}).Search("git", nil, Options{})
			}
		})
	}
	wg.Wait()
}
