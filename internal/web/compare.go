package web

import (
	"cmp"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/diff"
	"github.com/knack-dev/knack/internal/base/limit"
	"github.com/knack-dev/knack/skill"
)

// comparison shows two skills of the same name side by side.
type comparison struct {
	With  relative
	Same  bool // both have the same SKILL.md
	Cut   bool // only the beginnings are compared
	Rows  []diffRow
	Files []fileChange
	Fault string // why the other files are not compared
}

// diffRow is one row of a comparison of lines. A line number of 0 means no line. If Gap is not 0,
// the row stands for so many equal lines.
type diffRow struct {
	Left, Right             int
	LeftText, RightText     string
	Removed, Added, Changed bool
	Gap                     int
}

// fileChange is a file that is not the same in both skills.
type fileChange struct{ Path, How string }

// contextRows is the number of equal lines around a difference.
const contextRows = 3

// compareView compares a skill with the relative in the address, or else with the first relative.
func (s *Site) compareView(r *request, v catalog.View, e *catalog.Entry, data []byte, p *skillPage) error {
	others := relatives(v, e)
	if len(others) == 0 {
		return problem(404, "No other skill has the name of this one.")
	}
	other := others[0]
	if with := r.URL.Query().Get("with"); with != "" {
		i := slices.IndexFunc(others, func(o *catalog.Entry) bool { return o.URI().String() == with })
		if i < 0 {
			return problem(404, "No skill of this name has that address: it may have been renamed or removed.")
		}
		other = others[i]
	}
	theirs, other, err := v.Read(r.Context(), other)
	if err != nil {
		return readFault(err)
	}
	left, err := sourceOf(r, string(data), "")
	if err != nil {
		return err
	}
	right, err := sourceOf(r, string(theirs), "")
	if err != nil {
		return err
	}
	c := &comparison{With: relative{Href: pageOf(other), Place: other.Place()}, Same: string(data) == string(theirs)}
	if !c.Same {
		c.Cut = left.Cut || right.Cut
		c.Rows = diffRows(left.Lines, right.Lines, diff.Rows(left.Lines, right.Lines))
	}
	if err := limit.Reserve(r.Context(), 2*skill.FolderMemory); err != nil {
		return err
	}
	_, ours, err := v.Manifest(r.Context(), e)
	var also []skill.File
	if err == nil {
		_, also, err = v.Manifest(r.Context(), other)
	}
	switch {
	case r.Context().Err() != nil:
		return r.Context().Err()
	case err != nil:
		c.Fault = skill.Reason(err)
	default:
		c.Files = fileChanges(ours, also)
	}
	p.Compare = c
	return nil
}

// relatives returns the other skills of the same name, first the skill that the name
// loads.
func relatives(v catalog.View, e *catalog.Entry) (out []*catalog.Entry) {
	if e.By != nil {
		out = append(out, e.By)
	}
	for _, o := range v.Entries {
		if o.Key == e.Key && !o.SameURI(e) && o != e.By && o.Status != catalog.Skipped {
			out = append(out, o)
		}
	}
	return out
}

// diffRows returns the rows of a page. A row with a gap replaces a long run of equal lines.
func diffRows(left, right []string, rows []diff.Row) (out []diffRow) {
	near := make([]bool, len(rows)) // near[i] is set if row i is close to a difference
	for i, r := range rows {
		if !r.Same {
			for j := max(0, i-contextRows); j <= min(len(rows)-1, i+contextRows); j++ {
				near[j] = true
			}
		}
	}
	gap := 0
	for i, r := range rows {
		if !near[i] {
			gap++
			continue
		}
		if gap > 0 {
			out = append(out, diffRow{Gap: gap})
			gap = 0
		}
		w := diffRow{Left: r.Left + 1, Right: r.Right + 1}
		if r.Left >= 0 {
			w.LeftText = left[r.Left]
		}
		if r.Right >= 0 {
			w.RightText = right[r.Right]
		}
		w.Removed, w.Added, w.Changed = r.Right < 0, r.Left < 0, !r.Same && r.Left >= 0 && r.Right >= 0
		out = append(out, w)
	}
	if gap > 0 {
		out = append(out, diffRow{Gap: gap})
	}
	return out
}

// fileChanges returns the files other than SKILL.md that differ.
func fileChanges(ours, theirs []skill.File) (out []fileChange) {
	other := map[string]skill.Digest{}
	for _, f := range theirs {
		other[f.Path] = f.Digest
	}
	for _, f := range ours {
		switch digest, ok := other[f.Path]; {
		case f.Path == skill.MainFile:
		case !ok:
			out = append(out, fileChange{f.Path, "only here"})
		case digest != f.Digest:
			out = append(out, fileChange{f.Path, "differs"})
		}
		delete(other, f.Path)
	}
	for path := range other {
		if path != skill.MainFile {
			out = append(out, fileChange{path, "only there"})
		}
	}
	slices.SortFunc(out, func(a, b fileChange) int { return cmp.Or(strings.Compare(a.Path, b.Path)) })
	return out
}
