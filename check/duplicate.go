package check

import (
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

var nameDuplicate = Rule{RuleNameDuplicate, skill.SeverityWarning, GroupPortability, "knack", "no two skills have the same name; agents load the first"}

// Place is a position in a file, whose name is one that people are shown.
type Place struct {
	File     string
	Position skill.Position
}

// String is "file:line:column".
func (p Place) String() string {
	if at := p.Position.String(); at != "" {
		return p.File + ":" + at
	}
	return p.File
}

// Duplicate is the finding about a skill whose name another skill has that comes before
// it, at the place given. A copy of the other, byte by byte, costs agents nothing: it is
// an info.
func Duplicate(r Report, other Place, isCopy bool) Finding {
	f := Finding{
		Rule: RuleNameDuplicate, Severity: nameDuplicate.Severity, File: r.Skill.Entry, Position: r.Name.Position, Length: r.Name.Length, Field: "name", Related: &other,
		Message: "the name " + display.Quote(r.Skill.Name) + " stands already in " + other.String(), Mend: "give one of the two another name",
	}
	if isCopy {
		f.Severity = skill.SeverityInfo
		f.Message, f.Mend = "this SKILL.md is a copy of "+other.String(), "delete one of the two, unless clients that read different folders need both"
	}
	return f
}

// NamePosition is where a SKILL.md has its name; zero if it has none.
func NamePosition(data []byte) skill.Position {
	f, _ := frontmatter.Parse(data).Field("name")
	return f.Value.Position
}

var uriName = Rule{RuleURIName, skill.SeverityWarning, GroupPublication, "SEP-2640", "the URI of a skill ends with its name"}

// URIName is the finding about a skill whose URI does not end with its name, since what
// has the place of that URI came first.
func URIName(s *skill.Skill, uri skill.URI) Finding {
	return Finding{Rule: RuleURIName, Severity: uriName.Severity, File: s.Entry, Field: "name",
		Message: "its URI " + uri.String() + " does not end with its name: another skill, folder or file has that place",
		Mend:    "give it a name of its own, or rename what has its place"}
}
