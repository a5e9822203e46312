package cli

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"unicode"

	"github.com/knack-dev/knack/internal/base/display"
)

// TestLogIsVisible checks that the server's log has no invisible or control characters, which could
// make a line mislead its reader.
func TestLogIsVisible(t *testing.T) {
	const odd = "a\x7fb\u0085c\x1b[2J\u202ed\u200be\U000e0041f\U0001d173g\u00adh\u2028i\ufeffj\r\nk\tl"
	for _, form := range []string{"text", "json"} {
		var b bytes.Buffer
		o := &serveConfig{logFormat: form}
		slog.New(o.handler(&b, slog.LevelInfo)).Warn("skill skipped", "at", odd, odd, "x")
		line := strings.TrimSuffix(b.String(), "\n")
		for _, r := range line {
			if unicode.IsControl(r) || display.IsUnseen(r) {
				t.Errorf("%s: %U is in %q", form, r, line)
			}
		}
		if form == "text" {
			continue
		}
		var said map[string]string
		if err := json.Unmarshal([]byte(line), &said); err != nil || said["at"] != odd {
			t.Errorf("%v: %q", err, said["at"])
		}
	}
}
