// Package sorting sorts lists of structures like package slices, with less code. The compiler
// repeats slices.SortFunc for each type, in 10 to 20 kB; here all types share the code of package
// sort. Strings, numbers and pointers share code in slices too, which is faster for lists that
// are sorted at each query.
package sorting

import "sort"

// Func sorts a list by cmp, like [slices.SortFunc].
func Func[T any](list []T, cmp func(a, b T) int) {
	if len(list) > 1 { // most lists of a scan are shorter, and the interface escapes to the heap
		sort.Sort(&by[T]{list, cmp})
	}
}

// Stable sorts a list by cmp, like [slices.SortStableFunc].
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
