package search

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
)

// maxWords bounds the indexed words of each field, and maxFieldBytes the bytes of its text. The
// longest description of 40,217 real skills has 1,929 characters.
var maxWords = [fields]int{inName: 32, inTags: 64, inDescription: 500, inHeadings: 500}

const maxFieldBytes = 16 << 10

// maxBeginning bounds the indexed words of a document's beginning, not counting stop words.
const maxBeginning = 50

// termsOfDoc is the approximate number of different indexed words of a skill.
const termsOfDoc = 128

// block is the number of documents that are indexed together. It bounds the temporary memory of
// indexing.
const block = 2048

// segment is the index of some documents, numbered from 0. It is immutable once it is part of an
// [Index]. Its terms are sorted. The postings of a term list the documents that contain it. Each
// document is stored as the distance to the previous one, with two bits for its frequencies of the
// term if these are usual. Other frequencies follow as a byte.
type segment struct {
	lengths [][fields]uint8 // the lengths of each document's fields, in units of unit

	data    string   // for each term its length, the term itself and its postings
	terms   []uint32 // where each term begins in data, and the length of data
	letters []uint32 // the letterSet of each term
	stems   []uint16 // the hashes of all stems, sorted
	byStem  []uint32 // for each hash in stems, the index of its term
}

// unit is the number of words in one step of a stored length.
var unit = [fields]int{inName: 1, inTags: 1, inDescription: 2, inHeadings: 2}

// The frequencies of a term in the fields of a document are packed into a byte: name and tags have
// one bit each, description and headings three.
const (
	maxTimes         = 7
	descriptionShift = 2
	headingsShift    = 5
)

// usual lists the usual frequencies, as packed bytes. The two bits of a posting are an index in it.
// usualField lists the field of each.
var (
	usual      = [4]byte{0, 1 << descriptionShift, 1 << headingsShift, 2 << headingsShift}
	usualField = [len(usual)]fieldID{1: inDescription, 2: inHeadings, 3: inHeadings}
)

func times(packed byte, f fieldID) int {
	switch f {
	case inName:
		return int(packed & 1)
	case inTags:
		return int(packed >> 1 & 1)
	case inDescription:
		return int(packed >> descriptionShift & maxTimes)
	}
	return int(packed >> headingsShift)
}

func oneMore(packed byte, f fieldID) byte {
	switch {
	case f == inName:
		return packed | 1
	case f == inTags:
		return packed | 2
	case times(packed, f) == maxTimes:
		return packed
	case f == inDescription:
		return packed + 1<<descriptionShift
	}
	return packed + 1<<headingsShift
}

func (s *segment) len() int { return len(s.terms) - 1 }

func (s *segment) term(i int) string {
	at := s.terms[i]
	return s.data[at+1:][:s.data[at]]
}

func (s *segment) postings(i int) string {
	at := s.terms[i]
	return s.data[at+1+uint32(s.data[at]) : s.terms[i+1]]
}

// number reads the number at data[i], and returns the position after it. It is [binary.Uvarint] for
// strings.
func number(data string, i int) (v uint32, end int) {
	for shift := 0; ; shift += 7 {
		c := data[i]
		i++
		v |= uint32(c&0x7f) << shift
		if c < 0x80 {
			return v, i
		}
	}
}

// from returns the index of the first term that is not less than a word.
func (s *segment) from(word string) int {
	return sort.Search(s.len(), func(i int) bool { return s.term(i) >= word })
}

// each calls visit for each document of a term, in ascending order.
func (s *segment) each(term int, visit func(doc uint32, packed byte)) {
	data := s.postings(term)
	doc := uint32(0)
	for i := 0; i < len(data); {
		step, end := number(data, i)
		packed := usual[step&3]
		if packed == 0 {
			packed = data[end]
			end++
		}
		doc, i = doc+step>>2, end
		visit(doc, packed)
	}
}

// builder makes segments from blocks of documents, one after the other. It reuses its memory.
type builder struct {
	ids      map[string]uint32
	names    []string
	stops    []bool // for each term, whether it is a stop word
	postings []posting
	lengths  [][fields]uint8
	seen     []byte   // for each term, its packed frequencies in the current document
	has      []uint32 // the terms of the current document
	tokens   tokens
	at       fieldID // the current field
	n        int     // words of the current field so far
	left     int     // words that may still be added to the beginning, or -1 in other fields

	order, ends []uint32
	placed      []placed
	bytes       []byte
}

type posting struct {
	term uint32
	placed
}

// placed is a posting without its term.
type placed struct {
	doc    uint16 // of at most a block
	packed byte
}

// segment indexes at most a block of documents.
func (b *builder) segment(docs []Doc) *segment {
	if b.ids == nil {
		b.ids = map[string]uint32{}
		b.tokens = tokens{yield: b.word, buf: make([]byte, 0, maxWord), lasts: true}
		b.postings = make([]posting, 0, len(docs)*termsOfDoc)
	}
	clear(b.ids)
	b.names, b.stops, b.seen, b.postings, b.lengths = b.names[:0], b.stops[:0], b.seen[:0], b.postings[:0], make([][fields]uint8, 0, len(docs))
	for i, d := range docs {
		b.add(uint32(i), d)
	}
	return b.done()
}

// resize returns a slice of n elements with any content. It reuses the memory of s if that is large
// enough.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/4)
	}
	return s[:n]
}

func (b *builder) add(doc uint32, d Doc) {
	var length [fields]uint8
	for f, texts := range [fields][]string{inName: {d.Name}, inTags: d.Tags, inDescription: {d.Description}, inHeadings: d.Headings} {
		n := b.field(fieldID(f), texts)
		if fieldID(f) == inHeadings {
			n = b.beginning(d.Beginning)
		}
		length[f] = uint8(min((n+unit[f]-1)/unit[f], 255))
	}
	b.lengths = append(b.lengths, length)
	for _, term := range b.has {
		b.postings = append(b.postings, posting{term, placed{uint16(doc), b.seen[term]}})
		b.seen[term] = 0
	}
	b.has = b.has[:0]
}

// field adds the words of a field, up to its bounds, and returns their number.
func (b *builder) field(f fieldID, texts []string) (n int) {
	b.at, b.n, b.left = f, 0, -1
	left := maxFieldBytes
	for _, text := range texts {
		text = display.CutBytes(text, left)
		left -= len(text)
		if b.tokens.cut(text); b.tokens.ended {
			break
		}
	}
	return b.n
}

// beginning adds the words of a document's beginning to the current field. It returns the number of
// words that the field has then.
func (b *builder) beginning(text string) (n int) {
	b.left = maxBeginning
	b.tokens.cut(display.CutBytes(text, maxFieldBytes))
	return b.n
}

// word adds a word to the current field. It returns false if the field has enough words.
func (b *builder) word(w []byte) bool {
	if b.n == maxWords[b.at] || b.left == 0 {
		return false
	}
	id, ok := b.ids[string(w)]
	if !ok {
		id = uint32(len(b.names))
		name := string(w)
		b.ids[name] = id
		b.names, b.stops, b.seen = append(b.names, name), append(b.stops, stop()[name]), append(b.seen, 0)
	}
	switch {
	case b.left > 0 && b.stops[id]:
		return true
	case b.left > 0:
		b.left--
	}
	b.n++
	if b.seen[id] == 0 {
		b.has = append(b.has, id)
	}
	b.seen[id] = oneMore(b.seen[id], b.at)
	return true
}

func (b *builder) done() *segment {
	b.order = resize(b.order, len(b.names)) // the terms, sorted
	for i := range b.order {
		b.order[i] = uint32(i)
	}
	slices.SortFunc(b.order, func(x, y uint32) int { return strings.Compare(b.names[x], b.names[y]) })
	// The postings were added document by document. A counting sort puts them in the order of
	// terms.
	b.ends = resize(b.ends, len(b.names)+1)
	clear(b.ends)
	for _, p := range b.postings {
		b.ends[p.term+1]++
	}
	for i := range b.names {
		b.ends[i+1] += b.ends[i]
	}
	b.placed = resize(b.placed, len(b.postings))
	for _, p := range b.postings {
		b.placed[b.ends[p.term]] = p.placed // afterwards, ends[t] is where the postings of t end
		b.ends[p.term]++
	}
	w := writer{data: b.bytes[:0], terms: make([]uint32, 0, len(b.names)+1)}
	for _, id := range b.order {
		w.begin(b.names[id])
		from := uint32(0)
		if id > 0 {
			from = b.ends[id-1]
		}
		for _, p := range b.placed[from:b.ends[id]] {
			w.add(uint32(p.doc), p.packed)
		}
		w.end()
	}
	b.bytes = w.data
	w.data = slices.Clone(w.data)
	return w.done(b.lengths)
}

// writer makes a segment from sorted terms.
type writer struct {
	data  []byte
	terms []uint32
	head  int    // where the postings of the last term begin
	last  uint32 // the document of the last posting
}

func (w *writer) begin(term string) {
	w.terms = append(w.terms, uint32(len(w.data)))
	w.data = append(append(w.data, byte(len(term))), term...)
	w.head, w.last = len(w.data), 0
}

func (w *writer) add(doc uint32, packed byte) {
	step := uint64(doc-w.last) << 2
	if i := bytes.IndexByte(usual[:], packed); i > 0 {
		w.data = binary.AppendUvarint(w.data, step|uint64(i))
	} else {
		w.data = append(binary.AppendUvarint(w.data, step), packed)
	}
	w.last = doc
}

// end removes the last term if no document has it.
func (w *writer) end() {
	if n := len(w.terms) - 1; w.head == len(w.data) {
		w.data, w.terms = w.data[:w.terms[n]], w.terms[:n]
	}
}

func (w *writer) done(lengths [][fields]uint8) *segment {
	return &segment{
		lengths: slices.Clip(lengths),
		terms:   clip(append(w.terms, uint32(len(w.data)))), data: display.TextOf(clip(w.data)),
	}
}

// spell builds the tables that find misspelt terms, if they do not exist yet. It is not called for
// a segment that is soon merged into another one.
func (s *segment) spell() {
	if s.letters != nil {
		return
	}
	s.letters = make([]uint32, s.len())
	for i := range s.letters {
		s.letters[i] = letterSet(s.term(i))
	}
	s.hashStems()
}

// clip returns a slice without much spare capacity. It copies the slice only if the spare capacity
// is large. While a large index is copied, memory use is at its peak.
func clip[T any](s []T) []T {
	if cap(s)-len(s) > len(s)/16 {
		return slices.Clone(s)
	}
	return slices.Clip(s)
}

// hashStems fills stems and byStem. A look-up finds candidates by their hash, and then compares the
// stems themselves.
func (s *segment) hashStems() {
	var buf [maxWord + 1]byte
	pairs := make([]uint64, s.len())
	for i := range pairs {
		pairs[i] = uint64(hash(stem(append(buf[:0], s.term(i)...))))<<32 | uint64(i)
	}
	slices.Sort(pairs)
	s.stems, s.byStem = make([]uint16, len(pairs)), make([]uint32, len(pairs))
	for i, p := range pairs {
		s.stems[i], s.byStem[i] = uint16(p>>32), uint32(p)
	}
}

// hash is FNV-1a, folded to 16 bits.
func hash(word []byte) uint16 {
	h := uint32(2166136261)
	for _, c := range word {
		h = (h ^ uint32(c)) * 16777619
	}
	return uint16(h>>16 ^ h)
}

// letterSet returns a bit set of the letters of a word, whatever their order and number. If two
// words differ by n edits, their sets differ by at most 2n bits.
func letterSet(word string) (set uint32) {
	for i := range len(word) {
		switch c := word[i]; {
		case c >= 'a' && c <= 'z':
			set |= 1 << (c - 'a')
		case c >= utf8.RuneSelf:
			set |= 1 << 26 // one bit for all such bytes, since a character has several
		default:
			set |= 1 << (27 + c%5)
		}
	}
	return set
}

func bitDistance(a, b uint32) int { return bits.OnesCount32(a ^ b) }
