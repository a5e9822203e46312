package frontmatter

import (
	"encoding/json"
	"strings"
	"testing"
)

// said formats problems as lines, so that a table compares them whole: "rule@line:column
// field: message | fix".
func said(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		line := string(p.Rule) + "@" + p.Position.String() + " "
		if p.Field != "" {
			line += p.Field + ": "
		}
		line += p.Message
		if p.Fix != "" {
			line += " | " + p.Fix
		}
		out = append(out, line)
	}
	return out
}

// fenced puts a block between two fences, so that its first line is the file's
// second.
func fenced(block string) []byte {
	if !strings.HasSuffix(block, "\n") {
		block += "\n"
	}
	return []byte("---\n" + block + "---\n# Body\n")
}

// checkDocument checks the promises of every parse.
func checkDocument(t *testing.T, file []byte, d *Document) {
	t.Helper()
	if d.Body < 0 || d.Body > len(file) {
		t.Fatalf("body at %d of %d", d.Body, len(file))
	}
	if js := d.JSON(); !json.Valid(js) {
		t.Errorf("not valid JSON: %.200s", js)
	}
	var widths []int
	for pos, text := 0, string(file); pos < len(file); {
		line, next := cutLine(text, pos)
		widths = append(widths, len([]rune(line)))
		pos = next
	}
	widths = append(widths, 0) // after the last line end
	inside := func(what string, p Position) {
		t.Helper()
		if p.Line < 1 || p.Line > len(widths) || p.Column < 1 || p.Column > widths[p.Line-1]+2 {
			t.Errorf("%s at %v, outside the file", what, p)
		}
	}
	for i, p := range d.Problems {
		inside(string(p.Rule), p.Position)
		if p.Message == "" || strings.ContainsAny(p.Message+p.Fix, "\n\r\x00\x1b") || len(p.Message)+len(p.Fix) > 1000 {
			t.Errorf("%s: not a message of one line: %q", p.Rule, p.Message)
		}
		if i > 0 && sortedAfter(d.Problems[i-1].Position, p.Position) {
			t.Errorf("problems are not in order: %v", said(d.Problems))
		}
	}
	seen := map[string]bool{}
	for _, f := range d.Fields {
		inside("key "+f.Key, f.KeyPosition)
		inside("value of "+f.Key, f.Value.Position)
		if seen[f.Key] {
			t.Errorf("the key %q stands twice", f.Key)
		}
		seen[f.Key] = true
	}
}

func sortedAfter(a, b Position) bool {
	return a.Line > b.Line || a.Line == b.Line && a.Column > b.Column
}
