package origin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestBoundsInPages checks that the page of limits states the bounds.
func TestBoundsInPages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "doc", "roots.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{origin.MaxFiles, origin.MaxSkills, origin.MaxEntries} {
		if !strings.Contains(string(text), display.Thousands(n)) {
			t.Errorf("roots.md does not say %s", display.Thousands(n))
		}
	}
}
