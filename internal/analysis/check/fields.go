package check

import (
	"unicode/utf8"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/lazyregexp"
	"github.com/knack-dev/knack/internal/base/typo"
)

// known lists the fields of the specification.
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
		fix := "put it under metadata: if no client needs it here"
		if near := typo.Field(f.Key); near != "" {
			if _, there := s.doc.Field(near); !there {
				fix = "write " + near + ": if you mean that key, else " + fix
			}
		}
		out = append(out, s.findingAt(l.offset()+l.index(f.KeyPosition.Column), utf8.RuneCountInString(f.Key), "the specification does not know the field "+display.Quote(f.Key), fix))
	}
	return out
}

var (
	reReserved = lazyregexp.New(`(?i)anthropic|claude`)
	reXMLTag   = lazyregexp.New(`</?[A-Za-z][A-Za-z0-9_-]*( [^<>]*)?/?>`)
)

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
