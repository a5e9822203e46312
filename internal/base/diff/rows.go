package diff

import (
	"strings"

	"github.com/aymanbagabas/go-udiff"
)

// Row is one row of a side-by-side comparison. Left and Right are indexes of lines, or -1 if that
// side has no line. Same is set if both sides have a line and the two are equal.
type Row struct {
	Left, Right int
	Same        bool
}

// Rows returns the rows of a side-by-side comparison of lines without line ends.
func Rows(a, b []string) []Row {
	rows := make([]Row, 0, max(len(a), len(b)))
	x, y, removed, added := 0, 0, 0, 0
	flush := func() { // pairs removed lines with added ones
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
	for _, h := range hunks(joinLines(a), joinLines(b), len(a)+len(b)) { // one hunk with all lines
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
	for ; x < len(a); x, y = x+1, y+1 { // equal texts have no hunk
		rows = append(rows, Row{x, y, true})
	}
	return rows
}

// joinLines joins lines, and adds a line end to each.
func joinLines(lines []string) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	return b.String()
}
