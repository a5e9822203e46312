//go:build !race

package alloctest

// Raced reports whether the race detector is on, which costs time and memory.
const Raced = false
