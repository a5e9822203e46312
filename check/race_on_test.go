//go:build race

package check

// raced: the race detector is on, and costs time and memory of its own.
const raced = true
