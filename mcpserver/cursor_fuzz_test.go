package mcpserver

import (
	"testing"

	"github.com/knack-dev/knack/skill"
)

// FuzzCursor checks that a cursor that is accepted contains a URI in normal form, and that a URI is
// the same after it was made a cursor and parsed.
func FuzzCursor(f *testing.F) {
	for _, c := range []string{"", "x", "MSBza2lsbDovL2EvU0tJTEwubWQ", cursorAfter(1, "skill://a/SKILL.md"), cursorAfter(1<<40, "skill://a/%2e%2e/SKILL.md"), cursorAfter(0, ""), cursorAfter(7, "skill://a/b c"), cursorAfter(7, "SKILL://a/SKILL.md"), "LTEgeA"} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		if _, uri, err := parseCursor(c); err == nil {
			if u, err := skill.ParseURI(uri); err != nil || u.String() != uri {
				t.Errorf("%q names %q: %v", c, uri, err)
			}
		}
		// A URI made into a cursor is parsed back unchanged.
		if u, err := skill.ParseURI(c); err == nil && len(u.String()) < 8000 {
			if n, back, err := parseCursor(cursorAfter(3, u.String())); err != nil || n != 3 || back != u.String() {
				t.Errorf("%q comes back as %q: %v", u, back, err)
			}
		}
	})
}
