package display

import (
	"strings"
	"testing"
)

// TestRedactWords checks that an argument is hidden if it is a secret or the value of a flag for a
// secret, and that files and folders are shown.
func TestRedactWords(t *testing.T) {
	for in, want := range map[string]string{
		"serve --dir /team/skills --tools runner": "serve --dir /team/skills --tools runner",
		"--token hunter2 --dir x":                 "--token [redacted] --dir x",
		"--token=hunter2 --dir x":                 "[redacted] --dir x",
		"--api-key hunter2":                       "--api-key [redacted]",
		"--token-file tokens --secrets":           "--token-file tokens --secrets",
		"ghp_abc":                                 "[redacted]",
		"/secret --dir":                           "/secret --dir",
		"remote https://example.com/mcp":          "remote https://example.com/mcp",
		"remote https://me:hunter2@example.com/":  "remote [redacted]",
		"--url=https://example.com/mcp?k=hunter2": "[redacted]",
		"--pin 0123456789abcdef0123456789abcdef":  "--pin [redacted]",
		"/nix/0123456789abcdef0123456789abcdef":   "/nix/0123456789abcdef0123456789abcdef",
	} {
		if got := strings.Join(RedactWords(strings.Fields(in)), " "); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
