package check

import (
	"strings"

	"github.com/knack-dev/knack/skill/frontmatter"
)

func allowedToolsForm(s *subject) []Finding {
	f, ok := s.doc.Field("allowed-tools")
	if !ok {
		return nil
	}
	const fix = "write the tools in one line, separated by spaces"
	switch f.Value.Kind {
	case frontmatter.Null:
		return nil
	case frontmatter.String:
		if strings.Contains(outsideParens(f.Value.Text), ",") {
			return []Finding{s.field(f, "the tools are separated by commas; the specification separates them by spaces", fix)}
		}
		return nil
	case frontmatter.List:
		return []Finding{s.field(f, "the tools are a list; the specification requires one string", fix)}
	}
	return []Finding{s.field(f, "allowed-tools is not a string", fix)}
}

// outsideParens returns a text without the parts in parentheses.
func outsideParens(s string) string {
	depth := 0
	return strings.Map(func(r rune) rune {
		switch {
		case r == '(':
			depth++
		case r == ')' && depth > 0:
			depth--
		case depth == 0:
			return r
		}
		return -1
	}, s)
}

// toolsOf returns the tools of allowed-tools in any of its forms. ok is false if another reader
// would find different tools.
func toolsOf(v frontmatter.Value) (tools []string, ok bool) {
	switch v.Kind {
	case frontmatter.String:
		depth, begin := 0, 0
		for i, r := range v.Text + " " {
			switch {
			case r == '(':
				depth++
			case r == ')' && depth > 0:
				depth--
			case depth == 0 && (r == ',' || r == ' ' || r == '\t' || r == '\n'):
				if tool := v.Text[begin:min(i, len(v.Text))]; tool != "" {
					tools = append(tools, tool)
				}
				begin = i + 1
			}
		}
		if depth != 0 {
			return nil, false
		}
	case frontmatter.List:
		for _, item := range v.Items {
			if item.Kind != frontmatter.String {
				return nil, false
			}
			tools = append(tools, item.Text)
		}
	default:
		return nil, false
	}
	for _, tool := range tools {
		// A reader that splits at spaces sees two tools in "Bash(git add:*)".
		if tool == "" || strings.ContainsAny(tool, ", \t\r\n'\"") {
			return nil, false
		}
	}
	return tools, len(tools) > 0
}

// toolsFix returns the file with allowed-tools in the form of the specification. The result is
// false if a reader could then find different tools.
func (j *judged) toolsFix() ([]byte, bool) {
	f, ok := j.doc.Field("allowed-tools")
	if !ok || j.faulty(f) || f.Value.Kind == frontmatter.String && !strings.Contains(outsideParens(f.Value.Text), ",") {
		return nil, false
	}
	tools, ok := toolsOf(f.Value)
	if !ok || f.KeyPosition.Column != 1 {
		return nil, false
	}
	from := f.KeyPosition.Line - 1
	to := from + 1
	for to < len(j.lines) && (strings.HasPrefix(j.lines[to].text, " ") || strings.HasPrefix(j.lines[to].text, "- ") || strings.HasPrefix(j.lines[to].text, "]")) {
		to++
	}
	for _, l := range j.lines[from:to] {
		if strings.Contains(l.text, "#") {
			return nil, false // perhaps a comment
		}
	}
	joined := strings.Join(tools, " ")
	if strings.Contains(joined, ": ") || strings.HasSuffix(joined, ":") || strings.ContainsAny(joined[:1], "!&*-?|>@`%{}[]#") {
		joined = quote(joined)
	}
	return j.splice(from, to, "allowed-tools: "+joined+j.end(to-1)), true
}
