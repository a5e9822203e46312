package search

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// The weights were chosen on the odd lines of the tables in internal/tools/knownitem. TestQuality
// measures them on the even lines.
var (
	// fieldWeight is the weight of a word in a field.
	fieldWeight = [fields]float32{inName: 6, inTags: 3, inDescription: 1.5, inHeadings: 0.6}
	// lengthWeight is how much the length of a field reduces that weight, from 0 (not at all) to 1
	// (in full proportion).
	lengthWeight = [fields]float32{inName: 0.4, inTags: 0.5, inDescription: 0.3, inHeadings: 0.5}
	// kindWeight is the weight of a term by how it matches the word.
	kindWeight = [...]float32{exactMatch: 1, stemMatch: 0.85, joinedMatch: 1, synonymMatch: 0.7, prefixMatch: 0.5, typoMatch: 0.6}
)

const (
	// saturation bounds the effect of repetition. Above it, further occurrences of a word hardly
	// count.
	saturation = 4
	// coverage is the share of the score that depends on how many words of the query were found.
	coverage = 0.6
	// wholeName multiplies the score of a document whose name equals the query.
	wholeName = 1.5
	// relevant is the share of the best score that a document needs to be a hit. With it, none of
	// 908 queries loses its skill from the first five hits.
	relevant = 0.2
)

// Options control a search. The zero value returns every document that matches.
type Options struct {
	Limit   int  // the maximum number of hits; 0 returns all
	Explain bool // whether Hit.Matches is filled in
}

// Result is the outcome of a search.
type Result struct {
	Hits  []Hit
	Total int // the number of hits without a limit
}

// Search returns the documents that contain a word of the query, the best first. If weight is not
// nil, it multiplies a document's score. A document with a weight of 0 or less, or with a small
// fraction of the best score, is neither returned nor counted. A query without words returns
// nothing.
func (x *Index[K]) Search(query string, weight func(doc int) float32, o Options) Result {
	all, words := x.core.parse(query)
	if len(all) == 0 {
		return Result{}
	}
	s := scratches.Get().(*scratch)
	s.grow(x.core.docs)
	for _, w := range all {
		x.core.score(s, w)
	}
	r := Result{}
	top := top{limit: o.Limit, most: len(s.found)}
	if o.Limit > 0 {
		top.most = min(top.most, o.Limit)
	}
	best := float32(0)
	for _, doc := range s.found {
		w := float32(1)
		if weight != nil {
			w = max(weight(int(doc)), 0)
		}
		score := w * s.final(doc, words)
		s.lines[doc].score, best = score, max(best, score)
	}
	for _, doc := range s.found {
		if score := s.lines[doc].score; score > 0 && score >= relevant*best {
			r.Total++
			if !top.full() || score >= top.hits[0].Score {
				top.offer(Hit{Doc: int(doc), Score: score})
			}
		}
	}
	r.Hits = top.sorted()
	if o.Explain {
		x.core.explain(all, r.Hits)
	}
	s.clear()
	scratches.Put(s)
	return r
}

// scratch is the working memory of one search, with an entry for each document.
type scratch struct {
	lines  []docScore
	found  []uint32 // documents with a score
	ofWord []uint32 // documents that have the current word
}

type docScore struct {
	score float32 // the score of all words so far
	word  float32 // the value of the current word
	words uint8   // the number of words that were found
	named uint8   // the number of words that are in the name, unchanged
	rest  uint8   // the number of words in the name
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) grow(docs int) {
	if len(s.lines) < docs {
		s.lines = make([]docScore, docs)
	}
}

func (s *scratch) clear() {
	for _, doc := range s.found {
		s.lines[doc] = docScore{}
	}
	s.found = s.found[:0]
}

// score adds the value of a word to the score of each document that contains it.
func (x *index) score(s *scratch, w queryTerm) {
	s.ofWord = s.ofWord[:0]
	for _, v := range w.variants {
		x.collect(s, v, w.typed)
	}
	n := float64(len(s.ofWord))
	rare := float32(math.Log(1 + (float64(x.docs)-n+0.5)/(n+0.5)))
	for _, doc := range s.ofWord {
		l := &s.lines[doc]
		if l.score == 0 {
			s.found = append(s.found, doc)
		}
		l.score += rare * l.word
		l.word = 0
		if w.typed {
			l.words++
		}
	}
}

// collect records the value of a variant for each document that contains it. A better variant of
// the same word takes precedence.
func (x *index) collect(s *scratch, v variant, typed bool) {
	p := x.parts[v.part]
	data, lengths, places := p.seg.postings(v.term), p.seg.lengths, p.places
	lines, ofWord := s.lines, s.ofWord
	doc := uint32(0)
	for i := 0; i < len(data); {
		step := uint32(data[i])
		i++
		if step >= 0x80 {
			step, i = number(data, i-1)
		}
		doc += step >> 2
		kind, packed := step&3, byte(0)
		if kind == 0 {
			packed = data[i]
			i++
		}
		place := places[doc]
		if place == gone {
			continue
		}
		length := &lengths[doc]
		l := &lines[place]
		if l.word == 0 {
			ofWord = append(ofWord, uint32(place))
		}
		if kind != 0 {
			l.word = max(l.word, v.weight*x.values[kind][length[usualField[kind]]])
			continue
		}
		var often float32
		if packed&1 != 0 {
			often = x.norms[inName][length[inName]]
		}
		if packed&2 != 0 {
			often += x.norms[inTags][length[inTags]]
		}
		if t := packed >> descriptionShift & maxTimes; t != 0 {
			often += float32(t) * x.norms[inDescription][length[inDescription]]
		}
		if t := packed >> headingsShift; t != 0 {
			often += float32(t) * x.norms[inHeadings][length[inHeadings]]
		}
		l.word = max(l.word, v.weight*often/(saturation+often))
		if v.how == exactMatch && typed && packed&1 != 0 {
			l.named++
			l.rest = length[inName]
		}
	}
	s.ofWord = ofWord
}

// final returns the score of a document once all words are scored.
func (s *scratch) final(doc uint32, words int) float32 {
	l := s.lines[doc]
	score := l.score * (1 - coverage + coverage*float32(l.words)/float32(words))
	if int(l.named) == words && l.named == l.rest {
		score *= wholeName
	}
	return score
}

// top collects the best hits. With a limit it is a heap with the worst hit first.
type top struct {
	limit int
	most  int // the maximum number of hits
	hits  []Hit
}

// full reports whether a further hit is kept only if it is better than the worst one.
func (t *top) full() bool { return t.limit > 0 && len(t.hits) == t.limit }

// compareHits orders hits by score, and equal ones by position.
func compareHits(a, b Hit) int { return cmp.Or(cmp.Compare(b.Score, a.Score), a.Doc-b.Doc) }

func (t *top) offer(h Hit) {
	switch {
	case t.limit == 0 || len(t.hits) < t.limit:
		if t.hits == nil {
			t.hits = make([]Hit, 0, t.most)
		}
		t.hits = append(t.hits, h)
		if len(t.hits) == t.limit {
			for i := len(t.hits) / 2; i >= 0; i-- {
				t.sink(i)
			}
		}
	case h.Score >= t.hits[0].Score && compareHits(h, t.hits[0]) < 0:
		t.hits[0] = h
		t.sink(0)
	}
}

// sink moves a hit down until those below it are better.
func (t *top) sink(i int) {
	for {
		worst := i
		for below := 2*i + 1; below <= 2*i+2 && below < len(t.hits); below++ {
			if compareHits(t.hits[below], t.hits[worst]) > 0 {
				worst = below
			}
		}
		if worst == i {
			return
		}
		t.hits[i], t.hits[worst] = t.hits[worst], t.hits[i]
		i = worst
	}
}

func (t *top) sorted() []Hit {
	slices.SortFunc(t.hits, compareHits)
	return t.hits
}

// reason is a [Match] before its field and kind are named.
type reason struct {
	word, term string
	field      fieldID
	how        matchKind
}

// explain fills in the matches of each hit.
func (x *index) explain(all []queryTerm, hits []Hit) {
	at := make(map[int32]int, len(hits))
	for i, h := range hits {
		at[int32(h.Doc)] = i
	}
	reasons := make([][]reason, len(hits))
	for _, w := range all {
		for _, v := range w.variants {
			p := x.parts[v.part]
			p.seg.each(v.term, func(doc uint32, packed byte) {
				if i, ok := at[p.places[doc]]; ok {
					for f := range fields {
						if times(packed, f) > 0 {
							reasons[i] = append(reasons[i], reason{w.word, x.term(v), f, v.how})
						}
					}
				}
			})
		}
	}
	for i := range hits {
		for _, r := range surest(reasons[i]) {
			hits[i].Matches = append(hits[i].Matches, Match{r.word, r.term, r.field.String(), r.how.String()})
		}
	}
}

// surest returns the best reason for each word and field.
func surest(all []reason) []reason {
	slices.SortFunc(all, func(a, b reason) int {
		return cmp.Or(cmp.Compare(a.word, b.word), cmp.Compare(a.field, b.field), cmp.Compare(a.how, b.how), cmp.Compare(a.term, b.term))
	})
	return slices.CompactFunc(all, func(a, b reason) bool { return a.word == b.word && a.field == b.field })
}
