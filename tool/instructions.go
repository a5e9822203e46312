package tool

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// instructionsBudget is what the clients that cut instructions leave of them
// (see clientCut); longer ones would lose their end everywhere.
const instructionsBudget = 2000

// Instructions tell an agent what this server has and how to use it: how many
// skills there are, how to load one, and what was skipped and why. With the zero
// View they say that the skills are still being read.
func Instructions(v catalog.View, tools []*Tool) string {
	var b strings.Builder
	use := usage(tools)
	if v.Snapshot == nil {
		b.WriteString("This server has skills: instructions for particular kinds of task. They are still being read.")
		return b.String() + use
	}
	fmt.Fprintf(&b, "This server has %s: instructions for particular kinds of task.", skill.Count(len(v.Listed), "skill"))
	b.WriteString(use)
	if n := len(v.Skipped); n > 0 {
		fmt.Fprintf(&b, "\n\n%s skipped:", were(n))
		for i, e := range v.Skipped {
			line := "\n- " + Cut(Reason(e), 300)
			if utf8.RuneCountInString(b.String())+utf8.RuneCountInString(line) > instructionsBudget-80 {
				fmt.Fprintf(&b, "\n- and %d more; `knack list --all` shows them", n-i)
				break
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

// usage says which tool does what, for the tools that are there.
func usage(tools []*Tool) string {
	text := ""
	for _, t := range tools {
		switch t.Name {
		case "skill", "Skill", "get_skill":
			text += " Before a task, see whether one fits; load it with the tool " + t.Name + " and follow it."
		case findName:
			text += " The tool find_skills searches them by topic."
		}
	}
	return text
}

func were(n int) string {
	if n == 1 {
		return "1 skill was"
	}
	return fmt.Sprintf("%d skills were", n)
}
