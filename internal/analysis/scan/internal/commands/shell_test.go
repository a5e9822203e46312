package commands

import (
	"strings"
	"testing"
)

// TestTooDeep checks that an expression that nests to the right is too deep even if it has few
// brackets.
func TestTooDeep(t *testing.T) {
	if !tooDeep("((" + strings.Repeat("1?", maxChunk)) {
		t.Error("an expression of many operators is not too deep")
	}
	if tooDeep(strings.Repeat("a=b; ", maxChunk/5)) {
		t.Error("assignments are too deep")
	}
}
