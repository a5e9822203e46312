package catalog

import "strings"

// bases finds entries by their [Entry.Base]. Its keys are the two parts of a base, which
// the entries hold already. The text alone of a hundred thousand whole bases is 6 MB.
type bases []struct {
	prefix string
	of     map[string]*Entry // by what follows the prefix
}

// find returns the entry whose base is prefix and tail, or nil. If prefix is empty, tail
// is the whole base, which may begin with a prefix.
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

// add adds an entry whose base no other entry has.
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
