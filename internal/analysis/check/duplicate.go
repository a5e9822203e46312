package check

import (
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/skill/frontmatter"
)

// Place is a position in a file. File is the file's name for people.
type Place struct {
	File     string
	Position skill.Position
}

// String returns "file:line:column".
func (p Place) String() string {
	if at := p.Position.String(); at != "" {
		return p.File + ":" + at
	}
	return p.File
}

// Duplicate returns the finding for a skill whose name is already taken. other is the place of the
// skill that has the name. The finding is only an info for an identical copy, since a copy costs
// agents nothing.
func Duplicate(r Report, other Place, isCopy bool) Finding {
	rule, _ := RuleOf(ruleNameDuplicate)
	f := Finding{
		Rule: rule.ID, Severity: rule.Severity, File: r.Skill.Entry, Position: r.NameAt, Length: r.nameLength, Field: "name", Related: &other,
		Message: "the name " + display.Quote(r.Skill.Name) + " is already used in " + other.String(), Fix: "give one of the two another name",
	}
	if isCopy {
		f.Severity = skill.SeverityInfo
		f.Message, f.Fix = "this SKILL.md is a copy of "+other.String(), "delete one of the two, unless clients that read different folders need both"
	}
	return f
}

// NamePosition returns the position of the name in a SKILL.md, or zero if it has none.
func NamePosition(data []byte) skill.Position {
	f, _ := frontmatter.Parse(data).Field("name")
	return f.Value.Position
}

// URIName returns the finding for a skill whose URI does not end with its name. Another skill,
// folder or file already has the URI with the name.
func URIName(s *skill.Skill, uri skill.URI) Finding {
	rule, _ := RuleOf(ruleURIName)
	return Finding{Rule: rule.ID, Severity: rule.Severity, File: s.Entry, Field: "name",
		Message: "its URI " + uri.String() + " does not end with its name: another skill, folder or file has that place",
		Fix:     "give it a name of its own, or rename the other one"}
}
