package catalog

import "strings"

// bases finds entries by their [Entry.Base]. It is keyed by the two parts of a base, which
// the entries hold already: of a hundred thousand whole bases the text alone is 6 MB.
type bases []struct {
	prefix string
	of     map[string]*Entry // by what follows the prefix
}

// find is the entry whose base is prefix and tail, or nil. An empty prefix means that tail
// is the whole base, in which a prefix may be the first part.
func (b bases) find(prefix, tail string) *Entry {
	if prefix != "" {
		tail = prefix + "/" + tail
	}
	for _, one := range b {
		rest, ok := tail, true
		if one.prefix != "" {
			rest, ok = strings.CutPrefix(tail, one.prefix)
			if ok {
				rest, ok = strings.CutPrefix(rest, "/")
			}
		}
		if e := one.of[rest]; ok && e != nil {
			return e
		}
	}
	return nil
}

// add takes in an entry whose base nothing has.
func (b *bases) add(prefix, tail string, e *Entry) {
	for _, one := range *b {
		if one.prefix == prefix {
			one.of[tail] = e
			return
		}
	}
	*b = append(*b, struct {
		prefix string
		of     map[string]*Entry
	}{prefix, map[string]*Entry{tail: e}})
}
