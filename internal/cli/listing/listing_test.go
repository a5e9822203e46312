package listing_test

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/listing"
)

// TestNameWidth checks that a name that is too long does not push the descriptions of other skills
// aside.
func TestNameWidth(t *testing.T) {
	for _, tt := range []struct {
		name        string
		width, want int
	}{
		{"review", 80, 6},
		{"日本語", 80, 6},
		{strings.Repeat("a", 40), 80, 40},
		{strings.Repeat("a", 41), 80, 0},
		{strings.Repeat("a", 41), 200, 0},
		{strings.Repeat("a", 20), 40, 20},
		{strings.Repeat("a", 21), 40, 0},
		{strings.Repeat("a", 40), 0, 40}, // not a terminal
	} {
		env := &console.Env{StdoutTerminal: tt.width > 0, Width: tt.width}
		if got := listing.NameWidth(env.Out(), tt.name); got != tt.want {
			t.Errorf("%s at %d columns: %d, want %d", tt.name, tt.width, got, tt.want)
		}
	}
}
