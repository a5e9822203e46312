package scan

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocument checks that doc/scan.md lists every rule in its lane.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile("../../../doc/scan.md")
	if err != nil {
		t.Fatal(err)
	}
	enforce, review, ok := strings.Cut(string(doc), "## The review lane")
	if !ok {
		t.Fatal("doc/scan.md has no review lane")
	}
	for _, r := range Rules {
		row, lane := fmt.Sprintf("| `%s` | %s | %s |\n", r.ID, r.Title, r.Source), review
		if r.Lane == Enforce {
			lane = enforce
		}
		if !strings.Contains(lane, row) {
			t.Errorf("doc/scan.md lacks the row\n%s", row)
		}
	}
}
