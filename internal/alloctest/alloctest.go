// Package alloctest counts what a function asks of the heap, for tests that hold it
// to a number.
package alloctest

import (
	"math"
	"testing"
)

// Times is how often Least measures.
const Times = 5

// Least returns how many allocations one call of f makes: the least of Times
// measurements of runs calls each, and one call more before each measurement.
//
// One measurement counts the whole process. What the collector empties, a timer does
// or another goroutine makes meanwhile can only add, so that the least is the nearest
// to what f itself costs.
func Least(runs int, f func()) float64 {
	least := math.Inf(1)
	for range Times {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
