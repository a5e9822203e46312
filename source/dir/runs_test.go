package dir

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// Parts that are in order are merged into one, as a stable sort does.
func TestSortRuns(t *testing.T) {
	type numbered struct{ key, number int }
	for seed := range uint64(300) {
		random := rand.New(rand.NewPCG(seed, 1))
		var all []numbered
		for range random.IntN(8) {
			for key := range random.IntN(6) {
				all = append(all, numbered{key/2 + random.IntN(3)*random.IntN(2), len(all)})
			}
		}
		compare := func(a, b numbered) int { return cmp.Compare(a.key, b.key) }
		want := slices.Clone(all)
		slices.SortStableFunc(want, compare)
		if got := sortRuns(slices.Clone(all), compare); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, not %v", all, got, want)
		}
	}
	asked := 0
	sorted := make([]int, 10_000)
	for i := range sorted {
		sorted[i] = i % 5000
	}
	sortRuns(sorted, func(a, b int) int { asked++; return cmp.Compare(a, b) })
	if asked > 2*len(sorted) {
		t.Errorf("asked %d times for the order of two parts of %d", asked, len(sorted)/2)
	}
}
