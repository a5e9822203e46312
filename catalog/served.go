package catalog

import (
	"cmp"
	"slices"
)

// Served returns the skills for lists of resources, in URI order. These are all skills with a URI,
// including shadowed ones. Unlisted skills and copies from followed sources are left out. They are
// sorted once for each snapshot.
func (v View) Served() []*Entry {
	v.servedOnce.Do(func() {
		type served struct {
			uri string // computed once for all comparisons
			*Entry
		}
		all := make([]served, 0, len(v.Entries))
		for _, e := range v.Entries {
			if e.Status != Skipped && e.Status != Unlisted && !(e.Status == Copy && e.Root.Remote) {
				all = append(all, served{e.URI().String(), e})
			}
		}
		slices.SortFunc(all, func(a, b served) int { return cmp.Compare(a.uri, b.uri) })
		v.served = make([]*Entry, len(all))
		for i, e := range all {
			v.served[i] = e.Entry
		}
	})
	return v.served
}

// Invocable returns the skills that people may invoke, in the order of the listing: root order,
// then by name. They include skills withheld from models. They are sorted once for a snapshot.
func (s *Snapshot) Invocable() []*Entry {
	s.invocableOnce.Do(func() {
		if !slices.ContainsFunc(s.Entries, func(e *Entry) bool { return e.Status == Available && e.UserInvocable != e.ModelInvocable }) &&
			!slices.ContainsFunc(s.Listed, func(e *Entry) bool { return !e.UserInvocable }) {
			s.invocable = s.Listed // nearly always: models and people may use the same skills
			return
		}
		all := make([]*Entry, 0, len(s.Entries))
		for _, root := range s.spans {
			from := len(all)
			for _, e := range s.Entries[root.from:root.to] {
				if e.Status == Available && e.UserInvocable {
					all = append(all, e)
				}
			}
			slices.SortFunc(all[from:], byName)
		}
		s.invocable = all
	})
	return s.invocable
}
