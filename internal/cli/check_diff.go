package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/knack-dev/knack/check"
	"github.com/knack-dev/knack/internal/console"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// contextLines is the number of context lines in a diff, as in diff -u.
const contextLines = 3

// unifiedDiff returns the changes in the unified format that patch reads, byte for byte, or an
// empty string. Everything between the first and the last changed line is one block.
func unifiedDiff(name string, old, new []byte) string {
	if bytes.Equal(old, new) {
		return ""
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
	from := max(head-contextLines, 0)
	endA, endB := min(len(a)-tail+contextLines, len(a)), min(len(b)-tail+contextLines, len(b))
	var out strings.Builder
	fmt.Fprintf(&out, "--- a/%s\n+++ b/%s\n@@ -%s +%s @@\n", name, name, lineRange(from, endA), lineRange(from, endB))
	writeLines(&out, " ", a[from:head])
	writeLines(&out, "-", a[head:len(a)-tail])
	writeLines(&out, "+", b[head:len(b)-tail])
	writeLines(&out, " ", a[len(a)-tail:endA])
	return out.String()
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

// showDiff prints the changes that applyFixes would make. A person's terminal gets no control
// characters; patch gets every byte.
func showDiff(env *console.Env, run *checkRun, f *checkFlags, level check.Level) error {
	n := 0
	show := func(diff string) error {
		n++
		if env.StdoutTerminal {
			diff = console.Clean(diff)
		}
		_, err := io.WriteString(env.Stdout, diff)
		return err
	}
	for _, m := range run.misspeltFiles(f, level) {
		if err := show(renamePatch(m.shown, path.Join(path.Dir(m.shown), skill.MainFile))); err != nil {
			return err
		}
	}
	for _, c := range run.skills {
		old, _ := c.misnamedFile(f, level)
		if c.Data == nil && old == "" {
			continue
		}
		// Programs that apply patches refuse absolute paths; -d / or --directory=/ makes
		// these work.
		name := strings.TrimLeft(c.shown(cmp.Or(c.Skill.Entry, old)), "/")
		now, changes := check.Fix(c.Data, c.Skill.Folder(), level, c.ignored(f)...)
		diff := unifiedDiff(name, c.Data, now)
		if old != "" {
			to := strings.TrimLeft(c.shown(skill.MainFile), "/")
			diff = renamePatch(name, to) + strings.Replace(diff, "+++ b/"+name, "+++ b/"+to, 1)
		}
		if len(changes) == 0 && diff == "" {
			continue
		}
		if err := show(diff); err != nil {
			return err
		}
	}
	if n > 0 {
		return &failure{exitNo, fmt.Errorf("%s can be fixed", display.Count(n, "file")), "the same without --diff, with --fix, writes this"}
	}
	return nil
}

// renamePatch returns a patch that only renames a file.
func renamePatch(from, to string) string {
	from, to = strings.TrimLeft(from, "/"), strings.TrimLeft(to, "/")
	return fmt.Sprintf("diff --git a/%s b/%s\nrename from %s\nrename to %s\n", from, to, from, to)
}
