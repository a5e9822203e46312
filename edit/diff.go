package edit

import (
	"bytes"
	"fmt"
	"strings"
)

// around is the number of context lines in a diff, as in diff -u.
const around = 3

// Diff returns the changes in the unified format that patch reads, byte for byte, or an
// empty string. Everything between the first and the last changed line is one block.
func Diff(name string, old, new []byte) string {
	if bytes.Equal(old, new) {
		return ""
	}
	a, b := split(old), split(new)
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	from := max(head-around, 0)
	endA, endB := min(len(a)-tail+around, len(a)), min(len(b)-tail+around, len(b))
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n@@ -%s +%s @@\n", name, name, span(from, endA), span(from, endB))
	show(&out, " ", a[from:head])
	show(&out, "-", a[head:len(a)-tail])
	show(&out, "+", b[head:len(b)-tail])
	show(&out, " ", a[len(a)-tail:endA])
	return out.String()
}

func split(data []byte) []string {
	lines := strings.SplitAfter(string(data), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// span formats a range of lines for a hunk header.
func span(from, to int) string {
	if from == to {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func show(out *strings.Builder, sign string, lines []string) {
	for _, l := range lines {
		out.WriteString(sign + l)
		if !strings.HasSuffix(l, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
