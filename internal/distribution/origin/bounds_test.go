package origin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
)

// TestBoundsInPages checks that the pages state the bounds.
func TestBoundsInPages(t *testing.T) {
	for _, page := range []string{"install.md", "roots.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "doc", page))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{origin.MaxFiles, origin.MaxSkills, origin.MaxEntries} {
			if !strings.Contains(string(text), display.Thousands(n)) {
				t.Errorf("%s does not say %s", page, display.Thousands(n))
			}
		}
	}
}
