// Package commands judges the effects of shell commands, and of Python, JavaScript and TypeScript
// by their function calls. It expands no globs and runs nothing.
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
	parser   *syntax.Parser // for shell commands; used again for each text
	commands *commands
	args     []value // arguments of the program that is judged next
	// The environment variables that the skill's shell commands read, and those that they set.
	read, assigned map[string]bool
}

// New returns an analyzer that reports to r.
func New(r passage.Report) *Analyzer { return &Analyzer{Report: r} }

// Finish records facts about environment variables. They are the variables that shell commands read
// and that no command of the skill sets.
func (s *Analyzer) Finish() {
	for _, name := range slices.Sorted(maps.Keys(s.read)) {
		if !s.assigned[name] {
			s.Fact(passage.FactVariable, name)
		}
	}
}

// Origin is the kind of text that contains commands.
type Origin int

// The origins.
const (
	Script  Origin = iota // a script
	Fence                 // a block of commands in Markdown
	Bare                  // a block without a language, or any other text that may contain commands
	Inline                // inline code in Markdown
	String                // a string that a program starts as a command
	decoded               // a text that another command decodes
)

// commands is the state shared by the readers of one file.
type commands struct {
	file  *passage.File
	spent int // bytes of text derived from the file's text
	words int // words of the file's commands that were read
	// examples and others count how often the commands name a reserved host, and any other host.
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

// spend counts n more bytes of text that is derived from the file's text, and reports whether the
// bound allows them. Without the bound, commands that double a text again and again would take too
// much time.
func (c *commands) spend(n int) bool {
	c.spent += n
	return c.spent <= 2*len(c.file.Text)+1<<20
}
