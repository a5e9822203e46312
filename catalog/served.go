package catalog

import (
	"cmp"
	"slices"
)

// Served are all skills that have a URI, shadowed ones included, in the order of
// their URIs' text: the order of every paged list of resources. It is sorted
// once for a snapshot.
func (v View) Served() []*Entry {
	v.servedOnce.Do(func() {
		all := make([]*Entry, 0, len(v.Entries))
		for _, e := range v.Entries {
			if e.Status != Skipped {
				all = append(all, e)
			}
		}
		slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.URI.String(), b.URI.String()) })
		v.served = all
	})
	return v.served
}
