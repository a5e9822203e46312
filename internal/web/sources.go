package web

import (
	"slices"
	"time"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/distribution/follow"
	"github.com/knack-dev/knack/internal/web/internal/sources"
)

// sourcesIn returns the states of the sources whose roots are in a view.
func (s *Site) sourcesIn(v catalog.View) (all []follow.Status) {
	if s.o.Sources == nil {
		return nil
	}
	for _, source := range s.o.Sources() {
		if slices.ContainsFunc(v.Roots, func(r catalog.RootStatus) bool { return r.Label == source.Name }) {
			all = append(all, source)
		}
	}
	return all
}

// sourceRows returns a row for each source of [Site.sourcesIn]. Reasons may name files of the
// server, so only clients that see every skill get them.
func (s *Site) sourceRows(v catalog.View) (rows []sources.Row) {
	for _, source := range s.sourcesIn(v) {
		row := sources.RowOf(source, v.Whole())
		if !source.Answered.IsZero() {
			row.Age = lastedOf(max(time.Since(source.Answered), 0))
		}
		rows = append(rows, row)
	}
	return rows
}

// sourceRow returns the row of a skill's source, or nil if its root is not a source.
func (s *Site) sourceRow(v catalog.View, e *catalog.Entry) *sources.Row {
	for _, row := range s.sourceRows(v) {
		if row.Name == e.Root.Label {
			return &row
		}
	}
	return nil
}
