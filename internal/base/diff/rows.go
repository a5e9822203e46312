package diff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Row is one row of a comparison side by side. Left and Right are indexes of lines, or -1 if that side
// has no line in this row. In a row with both, the lines are equal if Same is set.
type Row struct {
	Left, Right int
	Same        bool
}

// Rows returns the rows of a comparison of lines, which have no ends.
func Rows(a, b []string) []Row {
	rows := make([]Row, 0, max(len(a), len(b)))
	x, y, removed, added := 0, 0, 0, 0
	flush := func() { // pairs what was removed with what was added
		for ; removed > 0 || added > 0; removed, added = max(removed-1, 0), max(added-1, 0) {
			r := Row{Left: -1, Right: -1}
			if removed > 0 {
				r.Left, x = x, x+1
			}
			if added > 0 {
				r.Right, y = y, y+1
			}
			rows = append(rows, r)
		}
	}
	for _, h := range hunks(ended(a), ended(b), len(a)+len(b)) { // with all lines, one hunk
		for _, l := range h.Lines {
			switch l.Kind {
			case udiff.Delete:
				removed++
			case udiff.Insert:
				added++
			default:
				flush()
				rows = append(rows, Row{x, y, true})
				x, y = x+1, y+1
			}
		}
	}
	flush()
	for ; x < len(a); x, y = x+1, y+1 { // without a difference there is no hunk
		rows = append(rows, Row{x, y, true})
	}
	return rows
}

// ended returns lines as a text in which each has an end.
func ended(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String()
}
