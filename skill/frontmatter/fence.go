package frontmatter

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fence is the position of the frontmatter: the block [start,end), the line on which it
// begins, and the offset of the body.
type fence struct {
	start, end, body int
	line             int
}

// findFence looks for the frontmatter. In the strict form, the first line and a later one are
// exactly "---". Some deviations are accepted, each with a problem: blank lines, HTML comments or a
// code fence before the frontmatter, spaces after the opener, and text directly after the closer.
// Anything else is not frontmatter, and the problem gives the reason.
func (d *Document) findFence(s string) (fence, bool) {
	pos, line := 0, 1
	if strings.HasPrefix(s, "\ufeff") {
		pos = len("\ufeff")
		d.add(TextBOM, Position{1, 1}, "", "the file begins with a byte-order mark", "save the file as UTF-8 without a byte-order mark")
	}
	if strings.TrimSpace(s[pos:]) == "" {
		d.add(FileEmpty, Position{1, 1}, "", "the file is empty", "write frontmatter with name: and description:")
		return fence{}, false
	}
	before := ""
	for pos < len(s) {
		text, next := cutLine(s, pos)
		switch {
		case strings.TrimRight(text, " \t") == "---":
			d.fenceOpened(text, line, before)
			return d.findCloser(s, next, line+1)
		case strings.TrimSpace(text) == "":
			before = cmp.Or(before, "there is a blank line")
		case strings.HasPrefix(text, "<!--"):
			end := strings.Index(s[pos:], "-->")
			if end < 0 {
				return d.noFence(s, pos, line)
			}
			before = "there is an HTML comment"
			line += lineEnds(s[pos : pos+end])
			_, next = cutLine(s, pos+end)
		case strings.HasPrefix(text, "```") && before != "a code fence opens":
			before = "a code fence opens"
		default:
			return d.noFence(s, pos, line)
		}
		pos, line = next, line+1
	}
	d.add(FenceMissing, Position{1, 1}, "", "the file has no frontmatter", "begin the file with ---, name:, description: and --- on lines of their own")
	return fence{}, false
}

func (d *Document) fenceOpened(text string, line int, before string) {
	if before != "" {
		d.Repaired = true
		d.add(FenceLate, Position{line, 1}, "", before+" before the frontmatter", "let the file begin with the line ---")
	}
	if text != "---" {
		d.Repaired = true
		d.add(FenceBlanks, Position{line, 4}, "", "there are spaces after the opening ---", "delete the spaces")
	}
}

// findCloser finds the end of the block that begins at pos. Only a line that begins with exactly
// three dashes closes it. Within YAML, no text at column 1 begins so, which makes dashes in a value
// safe.
func (d *Document) findCloser(s string, pos, line int) (fence, bool) {
	f := fence{start: pos, line: line}
	for pos < len(s) {
		text, next := cutLine(s, pos)
		if strings.HasPrefix(text, "---") && !strings.HasPrefix(text, "----") {
			f.end, f.body = pos, next
			if strings.TrimRight(text, " \t") != "---" {
				f.body = pos + len("---")
				d.Repaired = true
				d.add(FenceGlued, Position{line, 4}, "", "there is text directly after the closing ---", "put the text on the next line")
			}
			return f, d.fenceFits(f)
		}
		if next-f.start > MaxSize {
			f.end = next
			return f, d.fenceFits(f)
		}
		pos, line = next, line+1
	}
	d.add(FenceUnclosed, Position{f.line - 1, 1}, "", "the frontmatter is not closed", "put the line --- after the last field")
	return f, false
}

func (d *Document) fenceFits(f fence) bool {
	if f.end-f.start <= MaxSize {
		return true
	}
	d.add(FenceTooLong, Position{f.line - 1, 1}, "", "the frontmatter is longer than 64 KiB", "close it with the line --- after the last field, or move text into the body")
	return false
}

// trimInvisible returns a text without invisible characters around it, or "" if it is ASCII.
func trimInvisible(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return ""
	}
	return strings.TrimFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
}

// noFence returns the problem that explains why the text at pos is not frontmatter.
func (d *Document) noFence(s string, pos, line int) (fence, bool) {
	text, next := cutLine(s, pos)
	trimmed := strings.TrimSpace(text)
	at := Position{line, 1}
	switch {
	case strings.HasPrefix(trimmed, "name:") || strings.HasPrefix(trimmed, "description:"):
		d.add(FenceOpener, at, "", "the line --- is missing before the frontmatter", "put the line --- before the first field and after the last")
	case trimInvisible(text) == "---":
		odd := strings.IndexFunc(text, func(r rune) bool { return r != '-' && r != ' ' && r != '\t' })
		r, _ := utf8.DecodeRuneInString(text[odd:])
		at.Column = odd + 1
		where := "after"
		if odd < strings.Index(text, "---") {
			where = "before"
		}
		what := "the invisible character U+%04X"
		if unicode.IsSpace(r) {
			what = "the space U+%04X, which YAML does not accept as a space"
		}
		d.add(FenceOpener, at, "", where+" the opening --- there is "+fmt.Sprintf(what, r), "delete it")
	case strings.Trim(text, "-") == "" && len(text) > 3:
		d.add(FenceOpener, at, "", fmt.Sprintf("the frontmatter opens with %d hyphens, not three", len(text)), "write three hyphens: ---")
	case strings.HasPrefix(text, "version https://git-lfs.github.com/"):
		d.add(FenceMissing, at, "", "the file is a pointer of Git LFS; its text was not fetched", "run git lfs pull")
	case strings.HasPrefix(text, "---"):
		d.add(FenceOpener, at, "", "the opening --- is not alone on its line", "put --- on a line of its own")
	case strings.HasPrefix(trimmed, "@") && strings.TrimSpace(s[next:]) == "", isStub(trimmed) && strings.TrimSpace(s[next:]) == "":
		d.add(FenceMissing, at, "", "the file only names another file, which is never followed", "put the skill's text here, or link the skill's folder")
	default:
		if l, ok := laterFence(s, pos, line); ok {
			d.add(FenceMissing, at, "", "there is text before the frontmatter", "move the frontmatter ("+Position{l, 1}.String()+") to the beginning of the file")
			break
		}
		d.add(FenceMissing, at, "", "the file has no frontmatter", "begin the file with ---, name:, description: and --- on lines of their own")
	}
	return fence{}, false
}

// isStub reports whether the text is a relative path to another SKILL.md: a symbolic link
// that was stored as text.
func isStub(line string) bool {
	return strings.HasPrefix(line, ".") && strings.HasSuffix(strings.ToLower(line), ".md")
}

// laterFence looks in the first 20 lines for a line of three dashes followed by a key.
func laterFence(s string, pos, line int) (int, bool) {
	for range 20 {
		if pos >= len(s) {
			break
		}
		text, next := cutLine(s, pos)
		if strings.TrimRight(text, " \t") == "---" {
			if after, _ := cutLine(s, next); strings.HasPrefix(after, "name:") || strings.HasPrefix(after, "description:") {
				return line, true
			}
		}
		pos, line = next, line+1
	}
	return 0, false
}
