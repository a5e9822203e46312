package cli

import (
	"strings"
	"testing"

	"github.com/knack-dev/knack/internal/base/console"
	"github.com/knack-dev/knack/internal/cli/command"
)

// TestMistypedWordsForgeNoLine checks that a mistyped word with a line break cannot look like a
// hint.
func TestMistypedWordsForgeNoLine(t *testing.T) {
	for _, args := range [][]string{{"x\nhint: evil"}, {"config", "x\nhint: evil"}, {"tools", "--tools", "x\nhint: evil"}, {"tools", "--format", "x\nhint: evil"}} {
		var out, errs strings.Builder
		env := console.Env{Stdin: strings.NewReader(""), Stdout: &out, Stderr: &errs, Getenv: func(string) string { return "" }, Dir: t.TempDir()}
		if code := Main(t.Context(), env, args); code != command.Usage || strings.Contains(errs.String(), "\nhint: evil") {
			t.Errorf("%q: %d, %q", args, code, errs.String())
		}
	}
}
