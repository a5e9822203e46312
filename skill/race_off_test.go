//go:build !race

package skill

// raced reports whether the race detector is on, which costs time and memory.
const raced = false
