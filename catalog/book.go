package catalog

import (
	"hash/maphash"
)

// book finds the entries of a snapshot by a text that each of them has. A map of
// texts would take six times the room, for what the entries hold already.
type book struct {
	text  func(*Entry) string
	slots []uint32 // 1 + the entry's place in the snapshot, from where its text's hash says on; a power of two
	n     int
}

// newBook makes one with room for n entries.
func newBook(text func(*Entry) string, n int) book {
	size := 8
	for size < bookRoom*n {
		size *= 2
	}
	return book{text: text, slots: make([]uint32, size)}
}

// bookRoom is how many slots there are at least for each entry.
const bookRoom = 2

var bookSeed = maphash.MakeSeed()

// slot is where an entry with the text is, or would be.
func (b *book) slot(entries []*Entry, text string) *uint32 {
	mask := len(b.slots) - 1
	for i := int(maphash.String(bookSeed, text)) & mask; ; i = (i + 1) & mask {
		if at := b.slots[i]; at == 0 || b.text(entries[at-1]) == text {
			return &b.slots[i]
		}
	}
}

// find is the entry with the text, or nil.
func (b *book) find(entries []*Entry, text string) *Entry {
	if b.n == 0 {
		return nil
	}
	if at := *b.slot(entries, text); at != 0 {
		return entries[at-1]
	}
	return nil
}

// add takes in the entry in a place, unless there is one with its text, which it
// returns.
func (b *book) add(entries []*Entry, place int) *Entry {
	if bookRoom*(b.n+1) > len(b.slots) {
		larger := newBook(b.text, 2*(b.n+1))
		for _, at := range b.slots {
			if at != 0 {
				larger.add(entries, int(at)-1)
			}
		}
		*b = larger
	}
	slot := b.slot(entries, b.text(entries[place]))
	if at := *slot; at != 0 {
		return entries[at-1]
	}
	*slot = uint32(place) + 1
	b.n++
	return nil
}
