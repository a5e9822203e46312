package eval

import (
	"context"
	"slices"

	"github.com/knack-dev/knack/catalog"
)

// First is the number of hits of a search among which a skill counts as found.
const First = 3

// Ranked is a case with the rank of its skill in a search.
type Ranked struct {
	Case
	// Rank counts from 1; it is 0 if the search does not find the skill.
	Rank int
	// Top has the first skills of the search, at most [First].
	Top []*catalog.Entry
}

// Passed reports whether the skill is among the first hits. A case that should not trigger always
// passes: a search cannot answer that no skill fits.
func (r Ranked) Passed() bool { return !r.ShouldTrigger || r.Rank > 0 && r.Rank <= First }

// Rank runs the search of find_skills for each case. It is deterministic for a view. The error is
// the context's.
func Rank(ctx context.Context, v catalog.View, e *catalog.Entry, cases []Case) ([]Ranked, error) {
	all := make([]Ranked, len(cases))
	for i, c := range cases {
		found, err := v.Search(ctx, catalog.Query{Text: c.Query})
		if err != nil {
			return nil, err
		}
		all[i].Case = c
		for _, h := range found.Hits[:min(First, len(found.Hits))] {
			all[i].Top = append(all[i].Top, h.Entry)
		}
		all[i].Rank = 1 + slices.IndexFunc(found.Hits, func(h catalog.Hit) bool { return h.SameURI(e) })
	}
	return all, nil
}
