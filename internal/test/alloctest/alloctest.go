// Package alloctest counts the allocations of a function, for tests that bound them.
package alloctest

import (
	"math"
	"testing"
)

// Times is the number of measurements of Least.
const Times = 5

// Least returns the number of allocations of one call of f. It takes the smallest of Times
// measurements, each of which averages over runs calls. One more call precedes each measurement.
//
// A measurement counts the allocations of the whole process. The collector, timers and other
// goroutines can only add to the count, so the smallest is closest to the cost of f itself.
func Least(runs int, f func()) float64 {
	least := math.Inf(1)
	for range Times {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
