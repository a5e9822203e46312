// Package sorting sorts lists of structures as package slices does. slices.SortFunc is compiled anew
// for each type, into 10 to 20 kB; here types share the code of package sort. Strings, numbers and
// pointers share code in slices too, and a list that is sorted for each query is sorted faster there.
package sorting

import "sort"

// Func sorts a list by cmp, as [slices.SortFunc] does.
func Func[T any](list []T, cmp func(a, b T) int) {
	if len(list) > 1 { // most lists of a scan are shorter, and the interface is on the heap
		sort.Sort(&by[T]{list, cmp})
	}
}

// Stable sorts a list by cmp, as [slices.SortStableFunc] does.
func Stable[T any](list []T, cmp func(a, b T) int) {
	if len(list) > 1 {
		sort.Stable(&by[T]{list, cmp})
	}
}

type by[T any] struct {
	list []T
	cmp  func(a, b T) int
}

func (b *by[T]) Len() int           { return len(b.list) }
func (b *by[T]) Less(i, j int) bool { return b.cmp(b.list[i], b.list[j]) < 0 }
func (b *by[T]) Swap(i, j int)      { b.list[i], b.list[j] = b.list[j], b.list[i] }
