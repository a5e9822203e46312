// Package diff writes the difference of two texts in the unified format, for people and for patch.
package diff

import (
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"github.com/knack-dev/knack/internal/base/lazyregexp"
)

// contextLines is the number of context lines in a diff, as in diff -u.
const contextLines = 3

// Unified returns the changes in the unified format that patch reads byte for byte, or "" if the
// texts are equal. from and to name the two texts.
func Unified(from, to string, old, new []byte) string {
	d := udiff.UnifiedDiff{From: quoted(from), To: quoted(to), Hunks: hunks(string(old), string(new), contextLines)}
	return d.String()
}

// Rename returns a patch that only renames a file.
func Rename(from, to string) string {
	return fmt.Sprintf("diff --git %s %s\nrename from %s\nrename to %s\n", quoted("a/"+from), quoted("b/"+to), quoted(from), quoted(to))
}

// quoted returns the name of a file as Git writes it. A name from a cloned repository may contain a
// line end. Unquoted, the text after it would be a line of the patch, which could name any other
// file.
func quoted(name string) string {
	isOdd := func(r rune) bool { return r < ' ' || r == 0x7f || r == '"' || r == '\\' }
	if strings.IndexFunc(name, isOdd) < 0 {
		return name
	}
	var b strings.Builder
	for _, c := range []byte(name) {
		if isOdd(rune(c)) {
			fmt.Fprintf(&b, "\\%03o", c)
		} else {
			b.WriteByte(c)
		}
	}
	return `"` + b.String() + `"`
}

// Part is like [Unified] for a part of a file. The hunk headers have the part's name instead of
// line numbers, so patch cannot apply the result.
func Part(file, part string, old, new []byte) string {
	d := udiff.UnifiedDiff{From: file, To: file, Hunks: hunks(string(old), string(new), contextLines)}
	return numbers().ReplaceAllLiteralString(d.String(), "@@ "+part+" @@")
}

// numbers matches the header of a hunk. It never matches a line of a text, because a space, a + or
// a - precedes each.
var numbers = lazyregexp.New(`(?m)^@@ -[0-9,]+ \+[0-9,]+ @@$`)

// hunks returns the hunks of a diff, each with context lines around the changes.
func hunks(old, new string, context int) []*udiff.Hunk {
	d, err := udiff.ToUnifiedDiff("", "", old, udiff.Lines(old, new), context)
	if err != nil { // cannot happen: the edits were computed from this text
		panic(err)
	}
	return d.Hunks
}
