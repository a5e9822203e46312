package search

import "slices"

// Index finds documents by words. The caller gives each document a key. The number of a document is
// its position among the keys. Documents with equal scores are returned in the order of their
// numbers. An Index never changes and may be used concurrently. The zero value is empty.
type Index[K comparable] struct {
	keys []K
	core index
}

// Keys returns the keys of the documents in their order. The caller must not change them.
func (x *Index[K]) Keys() []K { return x.keys }

// Update returns an index of exactly these keys, which must differ from each other. It takes a
// document whose key is in x from x. For the other keys it calls read, with the positions of at
// most some thousand keys at a time, and read returns their documents. If read finds that a
// document needs a different key, it may change the key at that position. No other document may
// have the new key.
//
// Update shares or copies the documents of x and does not read them again. A few new documents
// among many cost about as much as one pass over the keys.
func (x *Index[K]) Update(keys []K, read func(places []int) []Doc) *Index[K] {
	var places map[K]int32
	if len(x.core.parts) > 0 { // only if needed: a map of many keys takes up to a sixth of an index's memory
		places = make(map[K]int32, len(keys))
		for i, k := range keys {
			places[k] = int32(i)
		}
	}
	next := &Index[K]{keys: slices.Clip(keys)}
	known := make([]bool, len(keys))
	for _, p := range x.core.parts {
		moved := part{seg: p.seg, places: make([]int32, len(p.places))}
		for doc, old := range p.places {
			moved.places[doc] = gone
			if old == gone {
				continue
			}
			if now, ok := places[x.keys[old]]; ok && !known[now] {
				moved.places[doc], known[now] = now, true
				moved.live++
			}
		}
		next.core.push(moved)
	}
	unknown := len(keys)
	for _, p := range next.core.parts {
		unknown -= p.live
	}
	fresh := make([]int, 0, unknown)
	for i := range keys {
		if !known[i] {
			fresh = append(fresh, i)
		}
	}
	var made builder
	for chunk := range slices.Chunk(fresh, block) {
		added := part{seg: made.segment(read(chunk)), live: len(chunk), places: make([]int32, len(chunk))}
		for doc, place := range chunk {
			added.places[doc] = int32(place)
		}
		next.core.push(added)
	}
	next.core.weigh(len(keys))
	return next
}

// index is the part of an Index that does not depend on the type of the keys.
type index struct {
	docs  int
	parts []part
	norms [fields][256]float32 // the weight of a word by the stored length of its field
	// values[k][n] is the score of a word with the frequencies usual[k] in a field of stored length
	// n.
	values [len(usual)][256]float32
}

// part is a segment, with the position of each of its documents in the index.
type part struct {
	seg    *segment
	places []int32
	live   int // the number of places that are not gone
}

const gone = -1

// push adds a part. Each part is at least twice as large as the next one, and more than half of its
// documents are live. So there are few parts with little unused memory, and each document is copied
// only a few times.
func (x *index) push(p part) {
	switch {
	case p.live == 0:
		return
	case p.live*2 <= len(p.places):
		p = merge(p, part{seg: &segment{terms: []uint32{0}}})
	}
	for n := len(x.parts); n > 0 && x.parts[n-1].live < p.live*2; n-- {
		p = merge(x.parts[n-1], p)
		x.parts = x.parts[:n-1]
	}
	x.parts = append(x.parts, p)
}

// weigh completes the parts. It computes how much the length of a field reduces the weight of its
// words, from the lengths of all documents.
func (x *index) weigh(docs int) {
	x.docs = docs
	var sum [fields]int
	for _, p := range x.parts {
		p.seg.spell()
		for doc, place := range p.places {
			if place == gone {
				continue
			}
			for f, n := range p.seg.lengths[doc] {
				sum[f] += int(n)
			}
		}
	}
	for f := range x.norms {
		average := max(float32(sum[f])/float32(max(docs, 1)), 1)
		for n := range x.norms[f] {
			x.norms[f][n] = fieldWeight[f] / (1 - lengthWeight[f] + lengthWeight[f]*float32(n)/average)
		}
	}
	for kind, f := range usualField {
		for n := range x.values[kind] {
			often := float32(times(usual[kind], f)) * x.norms[f][n]
			x.values[kind][n] = often / (saturation + often)
		}
	}
}

// merge makes one part of two, and drops deleted documents.
func merge(a, b part) part {
	m := part{live: a.live + b.live, places: make([]int32, 0, a.live+b.live)}
	lengths := make([][fields]uint8, 0, a.live+b.live)
	renumber := func(p part) []uint32 {
		now := make([]uint32, len(p.places))
		for doc, place := range p.places {
			now[doc] = dead
			if place != gone {
				now[doc] = uint32(len(m.places))
				m.places = append(m.places, place)
				lengths = append(lengths, p.seg.lengths[doc])
			}
		}
		return now
	}
	nowA, nowB := renumber(a), renumber(b)
	w := writer{
		data: make([]byte, 0, len(a.seg.data)+len(b.seg.data)), terms: make([]uint32, 0, len(a.seg.terms)+len(b.seg.terms)),
	}
	for i, j := 0, 0; i < a.seg.len() || j < b.seg.len(); {
		switch {
		case j == b.seg.len() || i < a.seg.len() && a.seg.term(i) < b.seg.term(j):
			w.begin(a.seg.term(i))
			w.copy(a.seg, i, nowA)
			i++
		case i == a.seg.len() || b.seg.term(j) < a.seg.term(i):
			w.begin(b.seg.term(j))
			w.copy(b.seg, j, nowB)
			j++
		default:
			w.begin(a.seg.term(i))
			w.copy(a.seg, i, nowA)
			w.copy(b.seg, j, nowB)
			i++
			j++
		}
		w.end()
	}
	m.seg = w.done(lengths)
	return m
}

const dead = ^uint32(0)

func (w *writer) copy(s *segment, term int, now []uint32) {
	s.each(term, func(doc uint32, packed byte) {
		if now[doc] != dead {
			w.add(now[doc], packed)
		}
	})
}
