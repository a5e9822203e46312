package diff

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRows(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"", "", ""},
		{"a b", "a b", "a=a b=b"},
		{"a b c", "a x c", "a=a b|x c=c"},
		{"a c", "a b c", "a=a |b c=c"},
		{"a b c", "a c", "a=a b| c=c"},
		{"a b c d", "x b y d e", "a|x b=b c|y d=d |e"},
		{"a b", "c", "a|c b|"},
		{"", "a", "|a"},
		{"a a a", "a a", "a| a=a a=a"},
	} {
		a, b := strings.Fields(c.a), strings.Fields(c.b)
		if diff := cmp.Diff(c.want, written(a, b, Rows(a, b))); diff != "" {
			t.Errorf("%q and %q: -want +got\n%s", c.a, c.b, diff)
		}
	}
}

func written(a, b []string, rows []Row) string {
	var out []string
	for _, r := range rows {
		l, sign, right := "", "|", ""
		if r.Left >= 0 {
			l = a[r.Left]
		}
		if r.Right >= 0 {
			right = b[r.Right]
		}
		if r.Same {
			sign = "="
		}
		out = append(out, l+sign+right)
	}
	return strings.Join(out, " ")
}

// TestShortest checks that the rows show every line once, and that as many lines are equal as in
// the longest common subsequence.
func TestShortest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		a, b := lines(r, r.IntN(30)), lines(r, r.IntN(30))
		rows := Rows(a, b)
		left, right, same := 0, 0, 0
		for _, row := range rows {
			if row.Left >= 0 {
				if row.Left != left {
					t.Fatalf("%q %q: %v", a, b, rows)
				}
				left++
			}
			if row.Right >= 0 {
				if row.Right != right {
					t.Fatalf("%q %q: %v", a, b, rows)
				}
				right++
			}
			if row.Same {
				if same++; a[row.Left] != b[row.Right] {
					t.Fatalf("%q %q: %v", a, b, rows)
				}
			}
		}
		if want := common(a, b); left != len(a) || right != len(b) || same != want {
			t.Fatalf("%q %q: %d of %d equal lines, %v", a, b, same, want, rows)
		}
	}
}

func lines(r *rand.Rand, n int) (out []string) {
	for range n {
		out = append(out, fmt.Sprint(r.IntN(6)))
	}
	return out
}

// common returns the length of the longest common subsequence, computed with the usual table.
func common(a, b []string) int {
	last := make([]int, len(b)+1)
	for _, x := range a {
		next := make([]int, len(b)+1)
		for j, y := range b {
			if next[j+1] = max(next[j], last[j+1]); x == y {
				next[j+1] = last[j] + 1
			}
		}
		last = next
	}
	return slices.Max(last)
}

// TestTooDifferent checks that long texts with only one common line are compared in reasonable
// time.
func TestTooDifferent(t *testing.T) {
	var a, b []string
	for i := range 50_000 {
		a, b = append(a, fmt.Sprint("a", i)), append(b, fmt.Sprint("b", i))
	}
	a, b = append(a, "end"), append(b, "end")
	rows := Rows(a, b)
	if len(rows) != 50_001 || !rows[50_000].Same || rows[0].Same {
		t.Errorf("%d rows", len(rows))
	}
}
