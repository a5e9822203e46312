package frontmatter

import (
	"cmp"
	"fmt"
)

// RuleID names the rule that a problem breaks, for example "yaml-syntax". The table of rules is in
// package skill.
type RuleID string

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

// Compare returns a negative number if p is before q, 0 if they are equal, and a positive
// number if p is after q.
func (p Position) Compare(q Position) int {
	return cmp.Or(cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Problem is one finding about a skill.
type Problem struct {
	Rule     RuleID
	Position Position
	Field    string // the key of the frontmatter field with the fault, if any
	Message  string // the fault, one line, no trailing full stop
	Fix      string // the fix, one line, imperative; may be empty
}
