package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

type pair struct{ key, at int }

// TestSorting compares random lists with what package slices makes of them.
func TestSorting(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	both := func(a, b pair) int { return cmp.Or(byKey(a, b), cmp.Compare(a.at, b.at)) }
	for n := range 200 {
		list := make([]pair, n)
		for i := range list {
			list[i] = pair{random.IntN(10), i}
		}
		stable, unique := slices.Clone(list), slices.Clone(list)
		Stable(stable, byKey)
		Func(unique, both)
		slices.SortStableFunc(list, byKey)
		if !slices.Equal(stable, list) || !slices.Equal(unique, list) {
			t.Fatalf("%d: %v %v, want %v", n, stable, unique, list)
		}
	}
}
