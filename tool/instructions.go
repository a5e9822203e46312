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
	fmt.Fprintf(&b, "This server has %s: instructions for particular kinds of task.", skill.Count(len(Offered(v, tools)), "skill"))
	b.WriteString(use)
	roots, skipped := unread(v), make([]string, 0, len(v.Skipped))
	if n := len(roots); n > 0 {
		lines := make([]string, n)
		for i, p := range roots {
			lines[i] = p.Root + ": " + p.Reason
		}
		fmt.Fprintf(&b, "\n\n%s not read:", were(n, "root"))
		writeReasons(&b, lines)
	}
	for _, e := range v.Skipped {
		skipped = append(skipped, Reason(e))
	}
	if n := len(skipped); n > 0 {
		fmt.Fprintf(&b, "\n\n%s skipped:", were(n, "skill"))
		writeReasons(&b, skipped)
	}
	return b.String()
}

// writeReasons writes as many lines as the budget holds, and how many there are
// more.
func writeReasons(b *strings.Builder, reasons []string) {
	for i, why := range reasons {
		line := "\n- " + Cut(why, 300)
		if utf8.RuneCountInString(b.String())+utf8.RuneCountInString(line) > instructionsBudget-80 {
			fmt.Fprintf(b, "\n- and %d more; `knack list --all` shows them", len(reasons)-i)
			return
		}
		b.WriteString(line)
	}
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

func were(n int, what string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %ss were", n, what)
}
