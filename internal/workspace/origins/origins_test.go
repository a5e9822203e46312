package origins

import (
	"slices"
	"testing"

	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestKinds checks that the table of kinds has a row for each kind that can be read, and no others.
func TestKinds(t *testing.T) {
	for kind := range kinds {
		if !slices.ContainsFunc(origin.Kinds, func(p origin.Properties) bool { return p.Kind == kind }) {
			t.Errorf("origin.Kinds has no row for %s", kind)
		}
	}
	if len(kinds) != len(origin.Kinds) {
		t.Errorf("%d kinds have a row, and %d are read", len(origin.Kinds), len(kinds))
	}
}
