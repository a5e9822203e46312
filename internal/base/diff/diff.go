// Package diff writes the difference of two texts as patch and people read it.
package diff

import (
	"bytes"
	"fmt"
	"strings"
)

// contextLines is the number of context lines in a diff, as in diff -u.
const contextLines = 3

// Unified returns the changes in the unified format that patch reads, byte for byte, or an
// empty string. Everything between the first and the last changed line is one block. from and
// to name the two texts.
func Unified(from, to string, old, new []byte) string {
	ranges, lines := changes(old, new)
	if lines == "" {
		return ""
	}
	return fmt.Sprintf("--- %s\n+++ %s\n@@ %s @@\n%s", quoted(from), quoted(to), ranges, lines)
}

// Rename returns a patch that only renames a file.
func Rename(from, to string) string {
	return fmt.Sprintf("diff --git %s %s\nrename from %s\nrename to %s\n", quoted("a/"+from), quoted("b/"+to), quoted(from), quoted(to))
}

// quoted writes the name of a file as Git does. A line end in a name would otherwise begin a line
// of the patch, which may name any other file: the name may be of a clone.
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

// Part is like [Unified] for a part of a file, which patch cannot apply: it names the part in
// place of the numbers of lines.
func Part(file, part string, old, new []byte) string {
	_, lines := changes(old, new)
	if lines == "" {
		return ""
	}
	return fmt.Sprintf("--- %s\n+++ %s\n@@ %s @@\n%s", file, file, part, lines)
}

// changes returns the lines of a diff and the numbers of its header.
func changes(old, new []byte) (ranges, lines string) {
	if bytes.Equal(old, new) {
		return "", ""
	}
	a, b := splitLines(old), splitLines(new)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	first := max(head-contextLines, 0)
	endA, endB := min(len(a)-tail+contextLines, len(a)), min(len(b)-tail+contextLines, len(b))
	var out strings.Builder
	writeLines(&out, " ", a[first:head])
	writeLines(&out, "-", a[head:len(a)-tail])
	writeLines(&out, "+", b[head:len(b)-tail])
	writeLines(&out, " ", a[len(a)-tail:endA])
	return fmt.Sprintf("-%s +%s", lineRange(first, endA), lineRange(first, endB)), out.String()
}

func splitLines(data []byte) []string {
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// lineRange formats a range of lines for a hunk header.
func lineRange(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, sign string, lines []string) {
	for _, l := range lines {
		out.WriteString(sign + l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
