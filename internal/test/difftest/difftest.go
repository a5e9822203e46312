// Package difftest compares values in tests.
package difftest

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Same reports an error with the difference if got and want differ. The error begins with what, the
// words that tell the comparison from others of the test.
func Same(t testing.TB, got, want any, what ...any) {
	t.Helper()
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("%s(-want +got):\n%s", fmt.Sprintln(what...), d)
	}
}
