package tool

import (
	"strings"

	"github.com/knack-dev/knack/catalog"
)

// Prompt is the list of skills as text for a system prompt, with how to use it
// by these tools: for agents whose tool descriptions hold no list, or too short
// a one. It keeps to the budget of every list.
func Prompt(v catalog.View, tools []*Tool) string {
	var b strings.Builder
	b.WriteString("You have skills: instructions for particular kinds of task.")
	b.WriteString(usage(tools))
	if find(tools, "read_file_in_skill") != nil {
		b.WriteString(" Files that a skill mentions are read with the tool read_file_in_skill.")
	}
	b.WriteString("\n\n<available_skills>\n")
	b.WriteString(list(asCalled(v, tools), bullets, escapeXML, Budget, more(tools)))
	b.WriteString("\n</available_skills>\n")
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

// asCalled lists the skills that the first tool which loads skills would load,
// under what that tool takes.
func asCalled(v catalog.View, tools []*Tool) []*catalog.Entry {
	for _, t := range tools {
		switch t.Contract {
		case "002":
			return v.Listed
		case "003":
			return strict(v)
		case "000":
			return renamed(documents(v), func(e *catalog.Entry) string { return e.Folder() })
		case "004":
			return renamed(addressable(v), func(e *catalog.Entry) string { return e.URI().String() })
		}
	}
	return v.Listed
}

func renamed(entries []*catalog.Entry, called func(*catalog.Entry) string) []*catalog.Entry {
	out := make([]*catalog.Entry, len(entries))
	for i, e := range entries {
		s := *e.Skill
		s.Name = called(e)
		shown := *e
		shown.Skill = &s
		out[i] = &shown
	}
	return out
}

// more is the tool that shows what a list leaves out, "" where the set has none.
func more(tools []*Tool) string {
	for _, name := range []string{findName, "list_skills"} {
		if find(tools, name) != nil {
			return name
		}
	}
	return ""
}
