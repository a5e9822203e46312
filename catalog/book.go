package catalog

import (
	"hash/maphash"

	"github.com/knack-dev/knack/skill"
)

// book finds the entries of a snapshot by a text that each of them has. A map of
// texts would take six times the room, for what the entries hold already.
type book struct {
	hash  func(*Entry) uint64 // of its text
	same  func(a, b *Entry) bool
	slots []uint32 // 1 + the entry's place in the snapshot, from where its text's hash says on; a power of two
	n     int
}

// newBook makes one with room for n entries.
func newBook(hash func(*Entry) uint64, same func(a, b *Entry) bool, n int) book {
	size := 8
	for size < bookRoom*n {
		size *= 2
	}
	return book{hash: hash, same: same, slots: make([]uint32, size)}
}

// bookRoom is how many slots there are at least for each entry.
const bookRoom = 2

var bookSeed = maphash.MakeSeed()

// newKeyBook makes one of keys.
func newKeyBook(n int) book {
	return newBook(func(e *Entry) uint64 { return maphash.String(bookSeed, string(e.Key)) }, func(a, b *Entry) bool { return a.Key == b.Key }, n)
}

// newBaseBook makes one of the paths of folders in URIs.
func newBaseBook(n int) book {
	return newBook(hashBase, (*Entry).SameURI, n)
}

func hashBase(e *Entry) uint64 {
	prefix, at := e.base()
	if prefix == "" {
		return maphash.String(bookSeed, at)
	}
	var h maphash.Hash
	h.SetSeed(bookSeed)
	h.WriteString(prefix)
	h.WriteByte('/')
	h.WriteString(at)
	return h.Sum64()
}

// slot is where the entry is that has a text with this hash, as is says, or would be.
func (b *book) slot(entries []*Entry, hash uint64, is func(*Entry) bool) *uint32 {
	mask := len(b.slots) - 1
	for i := int(hash) & mask; ; i = (i + 1) & mask {
		if at := b.slots[i]; at == 0 || is(entries[at-1]) {
			return &b.slots[i]
		}
	}
}

// find is the entry with the text, of which is says that it has it, or nil.
func (b *book) find(entries []*Entry, text string, is func(*Entry) bool) *Entry {
	if b.n == 0 {
		return nil
	}
	if at := *b.slot(entries, maphash.String(bookSeed, text), is); at != 0 {
		return entries[at-1]
	}
	return nil
}

// findKey is the entry with a key, or nil.
func (b *book) findKey(entries []*Entry, key skill.Key) *Entry {
	return b.find(entries, string(key), func(e *Entry) bool { return e.Key == key })
}

// findBase is the entry with a base, or nil.
func (b *book) findBase(entries []*Entry, path string) *Entry {
	return b.find(entries, path, func(e *Entry) bool { return e.hasBase(path) })
}

// add takes in the entry in a place, unless there is one with its text, which it
// returns.
func (b *book) add(entries []*Entry, place int) *Entry {
	if bookRoom*(b.n+1) > len(b.slots) {
		larger := newBook(b.hash, b.same, 2*(b.n+1))
		for _, at := range b.slots {
			if at != 0 {
				larger.add(entries, int(at)-1)
			}
		}
		*b = larger
	}
	e := entries[place]
	slot := b.slot(entries, b.hash(e), func(o *Entry) bool { return b.same(o, e) })
	if at := *slot; at != 0 {
		return entries[at-1]
	}
	*slot = uint32(place) + 1
	b.n++
	return nil
}
