// Package commands says what commands of shells do, and Python, JavaScript and TypeScript by their calls.
// Nothing is expanded, and nothing is run.
package commands

import (
	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"mvdan.cc/sh/v3/syntax"
)

// Judge judges the commands and the code in the files of a skill.
type Judge struct {
	passage.Report
	parser   *syntax.Parser // of shells, for one text after another
	commands *commands
	args     []value // of the text that an interpreter is told to run
}

// New returns a judge that reports what it finds.
func New(r passage.Report) *Judge { return &Judge{Report: r} }

// Origin says where commands stand.
type Origin int

// The origins.
const (
	Script  Origin = iota // a script
	Fence                 // a block of code in Markdown
	Inline                // inline code in Markdown
	String                // a string that a program starts as a command
	decoded               // a text that another command decodes
)

// commands is what the readers of the commands in one file share.
type commands struct {
	file  *passage.File
	spent int // bytes of text that were made from the file's
	words int // of its commands that were read
	// How often its commands name a host that is no one's, and another.
	examples, others int
	ran              map[string]bool // URLs whose content a command runs
}

// commandsOf returns what the readers of a file share.
func (s *Judge) commandsOf(f *passage.File) *commands {
	if s.commands == nil || s.commands.file != f {
		s.commands = &commands{file: f}
	}
	return s.commands
}

// spend takes room for a text that is made from the file's, so that commands which double a text
// cannot take more time than the file is long.
func (c *commands) spend(n int) bool {
	c.spent += n
	return c.spent <= 2*len(c.file.Text)+1<<20
}
