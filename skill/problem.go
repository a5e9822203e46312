package skill

import "fmt"

// RuleID names one rule of the table in rules.go, for example "name-missing".
type RuleID string

// Severity is the severity of a problem for the author of a skill.
type Severity string

// The severities: an error breaks the Agent Skills specification or makes the
// skill unusable, a warning works here and may fail elsewhere, an info is worth
// knowing.
const (
	SeverityError   Severity = "error"
	SeverityWarning Severity = "warning"
	SeverityInfo    Severity = "info"
)

// Position is a place in a SKILL.md. Line and Column count from 1; Column
// counts characters, not bytes. The zero Position means the whole file.
type Position struct {
	Line   int `json:"line"`
	Column int `json:"column"`
}

// String returns "line:column", and "" for the zero Position.
func (p Position) String() string {
	if p.Line == 0 {
		return ""
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Column)
}

// Problem is one finding about one skill.
type Problem struct {
	Rule     RuleID
	Position Position
	Field    string // the frontmatter key it is about, if any
	Message  string // what is wrong, one line, no trailing full stop
	Mend     string // what to do, one line, imperative; may be empty
}
