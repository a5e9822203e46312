//go:build race

package check

// raced reports whether the race detector is on, which costs time and memory.
const raced = true
