package eval

import (
	"context"
	"slices"

	"github.com/knack-dev/knack/catalog"
)

// First is the number of skills among which the search must place a skill.
const First = 3

// Ranked is a case with the place that the search gives the skill.
type Ranked struct {
	Case
	// Rank is the place, from 1; 0 if the search does not find the skill.
	Rank int
	// Top has the first skills that the search finds, at most [First] of them.
	Top []*catalog.Entry
}

// Passed reports whether the skill is among the first. A case that should not trigger passes
// always: a search cannot answer that no skill fits.
func (r Ranked) Passed() bool { return !r.ShouldTrigger || r.Rank > 0 && r.Rank <= First }

// Rank asks the search of find_skills for each case. A view gives the same answer each time. The
// error is that of the context.
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
