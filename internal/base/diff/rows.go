package diff

// Row is one row of a comparison side by side. Left and Right are indexes of lines, or -1 if that side
// has no line in this row. In a row with both, the lines are equal if Same is set.
type Row struct {
	Left, Right int
	Same        bool
}

// maxEdits is the maximum number of lines that are removed and added before the
// comparison ends. Time and memory grow with its square.
const maxEdits = 800

// Rows returns the rows of a comparison. Texts that differ in more than maxEdits lines
// are compared at their beginning and end alone.
func Rows(a, b []string) []Row {
	head, tail := 0, 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	rows := make([]Row, 0, max(len(a), len(b)))
	for i := range head {
		rows = append(rows, Row{i, i, true})
	}
	x, y := head, head
	different := func(toX, toY int) { // pairs what was removed with what was added
		for x < toX || y < toY {
			r := Row{Left: -1, Right: -1}
			if x < toX {
				r.Left = x
				x++
			}
			if y < toY {
				r.Right = y
				y++
			}
			rows = append(rows, r)
		}
	}
	for _, same := range matches(a[head:len(a)-tail], b[head:len(b)-tail]) {
		different(head+same[0], head+same[1])
		rows = append(rows, Row{x, y, true})
		x, y = x+1, y+1
	}
	different(len(a)-tail, len(b)-tail)
	for x < len(a) {
		rows = append(rows, Row{x, y, true})
		x, y = x+1, y+1
	}
	return rows
}

// matches returns the pairs of equal lines of a shortest edit, in order. It is the greedy
// algorithm of Myers ("An O(ND) Difference Algorithm", 1986).
func matches(a, b []string) (pairs [][2]int) {
	reached := [][]int{} // by the number of edits, then by diagonal
	last := []int{0, 0, 0}
	for edits := 0; edits <= min(len(a)+len(b), maxEdits); edits++ {
		next := make([]int, 2*edits+3) // of the diagonals -edits-1 to edits+1
		for d := -edits; d <= edits; d += 2 {
			x := 0
			switch down, right := at(last, d+1), at(last, d-1)+1; {
			case edits == 0:
			case d == -edits || d != edits && at(last, d-1) < down:
				x = down
			default:
				x = right
			}
			for x < len(a) && x-d < len(b) && a[x] == b[x-d] {
				x++
			}
			next[d+edits+1] = x
			if x >= len(a) && x-d >= len(b) {
				return trace(append(reached, next), len(a), len(b))
			}
		}
		reached, last = append(reached, next), next
	}
	return nil
}

// at returns how far a diagonal was reached, in the form of [matches].
func at(reached []int, diagonal int) int {
	i := diagonal + len(reached)/2
	if i < 0 || i >= len(reached) {
		return 0
	}
	return reached[i]
}

// trace follows the edits back from the ends of both texts.
func trace(reached [][]int, x, y int) (pairs [][2]int) {
	for edits := len(reached) - 1; edits >= 0; edits-- {
		d, fromX, fromY := x-y, 0, 0
		if edits > 0 {
			last := reached[edits-1]
			from := d - 1
			if d == -edits || d != edits && at(last, d-1) < at(last, d+1) {
				from = d + 1
			}
			fromX = at(last, from)
			fromY = fromX - from
		}
		for x > fromX && y > fromY {
			x, y = x-1, y-1
			pairs = append(pairs, [2]int{x, y})
		}
		x, y = fromX, fromY
	}
	for i, j := 0, len(pairs)-1; i < j; i, j = i+1, j-1 {
		pairs[i], pairs[j] = pairs[j], pairs[i]
	}
	return pairs
}
