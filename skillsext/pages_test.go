package skillsext

import (
	"fmt"
	"strings"
	"testing"
)

// TestPages checks that reading an endless list of a server stops after a bounded number of pages
// and bytes.
func TestPages(t *testing.T) {
	for name, c := range map[string]struct {
		cursor func(n int) string
		pages  int
		says   string
	}{
		"three":    {func(n int) string { return []string{"", "a", "b", ""}[n] }, 3, ""},
		"growing":  {func(n int) string { return strings.Repeat("x", n%maxPages) }, maxCursor + 1, "a cursor of the server has more than 4 KiB"},
		"endless":  {func(n int) string { return fmt.Sprint(n) }, maxPages, "the pages do not end: there are more than 10000"},
		"long":     {func(n int) string { return fmt.Sprint(n, strings.Repeat("x", maxCursor)) }, 1, "a cursor of the server has more than 4 KiB"},
		"a circle": {func(n int) string { return fmt.Sprint(n % 7) }, 8, "the server repeats a cursor"},
	} {
		n := 0
		var got error
		for _, err := range every(func(string) ([]*Skill, string, error) {
			if n++; n > 2*maxPages {
				t.Fatal(name, "goes on")
			}
			return nil, c.cursor(n), nil
		}) {
			got = err
		}
		if n != c.pages || (got == nil) != (c.says == "") || got != nil && !strings.Contains(got.Error(), c.says) {
			t.Errorf("%s: %d pages, %v", name, n, got)
		}
	}
}
