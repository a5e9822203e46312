// Package commands judges the effects of shell commands, and of Python, JavaScript and TypeScript
// by their calls. Nothing is expanded, and nothing is run.
package commands

import (
	"maps"
	"slices"

	"github.com/knack-dev/knack/internal/analysis/scan/internal/passage"
	"mvdan.cc/sh/v3/syntax"
)

// Analyzer judges the commands and the code in the files of a skill.
type Analyzer struct {
	passage.Report
	parser   *syntax.Parser // of shells, for one text after another
	commands *commands
	args     []value // of the text that an interpreter runs
	// Variables that shell commands of the skill read, and those that its commands set.
	read, assigned map[string]bool
}

// New returns an analyzer that reports to r.
func New(r passage.Report) *Analyzer { return &Analyzer{Report: r} }

// Finish notes the variables that shell commands read and no command of the skill sets: those of
// the environment.
func (s *Analyzer) Finish() {
	for _, name := range slices.Sorted(maps.Keys(s.read)) {
		if !s.assigned[name] {
			s.Fact(passage.FactVariable, name)
		}
	}
}

// Origin is the kind of text that holds commands.
type Origin int

// The origins.
const (
	Script  Origin = iota // a script
	Fence                 // a block of commands in Markdown
	Bare                  // a block that does not say its language, or a text that is not parsed
	Inline                // inline code in Markdown
	String                // a string that a program starts as a command
	decoded               // a text that another command decodes
)

// commands is the state shared by the readers of one file's commands.
type commands struct {
	file  *passage.File
	spent int // bytes of text that were made from the file's
	words int // of its commands that were read
	// How often the commands name a reserved host, and any other host.
	examples, others int
	ran              map[string]bool // URLs whose content a command runs
}

// commandsOf returns the state shared by the readers of a file.
func (s *Analyzer) commandsOf(f *passage.File) *commands {
	if s.commands == nil || s.commands.file != f {
		s.commands = &commands{file: f}
	}
	return s.commands
}

// spend charges a text that is derived from the file's. It reports whether the text fits, so that
// commands which double a text take no more time than the file is long.
func (c *commands) spend(n int) bool {
	c.spent += n
	return c.spent <= 2*len(c.file.Text)+1<<20
}
