package check

import (
	"regexp"
	"strings"
	"sync"

	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// known lists the specification's fields.
var known = map[string]bool{
	"name": true, "description": true, "license": true, "compatibility": true, "metadata": true, "allowed-tools": true,
}

func unknownFields(s *subject) (out []Finding) {
	for _, f := range s.doc.Fields {
		if known[f.Key] {
			continue
		}
		if len(out) == maxRuns {
			break
		}
		n := min(max(f.KeyPosition.Line, 1), len(s.lines))
		l := s.lines[n-1]
		mend := "put it under metadata: where no client needs it here"
		if near := typo.Field(f.Key); near != "" {
			if _, there := s.doc.Field(near); !there {
				mend = "write " + near + ": where that was meant, else " + mend
			}
		}
		out = append(out, s.at(l.offset()+l.index(f.KeyPosition.Column), len([]rune(f.Key)), "the specification does not know the field "+display.Quote(f.Key), mend))
	}
	return out
}

var (
	reReserved = onDemand(`(?i)anthropic|claude`)
	reXMLTag   = onDemand(`</?[A-Za-z][A-Za-z0-9_-]*( [^<>]*)?/?>`)
)

// onDemand compiles an expression at its first use, so that it does not delay the start of
// a server.
func onDemand(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

func reservedName(s *subject) []Finding {
	f, ok := s.doc.Field("name")
	m := reReserved().FindString(f.Value.Text)
	if !ok || m == "" {
		return nil
	}
	return []Finding{s.field(f, "a name with "+display.Quote(m)+" in it is refused where skills are uploaded to Claude", "choose another name")}
}

func xmlDescription(s *subject) []Finding {
	f, ok := s.doc.Field("description")
	m := reXMLTag().FindString(f.Value.Text)
	if !ok || m == "" {
		return nil
	}
	return []Finding{s.field(f, "a description with the tag "+display.Quote(m)+" in it is refused where skills are uploaded to Claude", "write it without angle brackets")}
}

func allowedToolsForm(s *subject) []Finding {
	f, ok := s.doc.Field("allowed-tools")
	if !ok {
		return nil
	}
	const mend = "write the tools in one line, separated by blanks"
	switch f.Value.Kind {
	case frontmatter.Null:
		return nil
	case frontmatter.String:
		if strings.Contains(outsideParens(f.Value.Text), ",") {
			return []Finding{s.field(f, "the tools are separated by commas; the specification separates them by blanks", mend)}
		}
		return nil
	case frontmatter.List:
		return []Finding{s.field(f, "the tools are a list; the specification wants one string", mend)}
	}
	return []Finding{s.field(f, "allowed-tools is not a string", mend)}
}

// outsideParens removes text in parentheses.
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

// toolsOf lists the tools of allowed-tools in any of its forms; ok is false if another
// reader would see other tools.
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
		// "Bash(git add:*)": a reader that splits at blanks sees two tools.
		if tool == "" || strings.ContainsAny(tool, ", \t\r\n'\"") {
			return nil, false
		}
	}
	return tools, len(tools) > 0
}
