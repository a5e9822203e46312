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
	b.WriteString(list(asCalled(v.Listed, tools), bullets, escapeXML, Budget, more(tools)))
	b.WriteString("\n</available_skills>\n")
	return b.String()
}

// asCalled lists the skills under what the tool that loads them takes.
func asCalled(entries []*catalog.Entry, tools []*Tool) []*catalog.Entry {
	called := caller(tools)
	if called == nil {
		return entries
	}
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

// caller is how the first tool that loads skills calls one, nil where that is
// its name.
func caller(tools []*Tool) func(*catalog.Entry) string {
	for _, t := range tools {
		switch t.Contract {
		case "002", "003":
			return nil
		case "000":
			return func(e *catalog.Entry) string { return e.Folder }
		case "004":
			return func(e *catalog.Entry) string { return e.URI.String() }
		}
	}
	return nil
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

// FunctionDescription is the description that a contract fixes for an OpenAI
// function beside the one that MCP shows; "" where there is one for both.
func (t *Tool) FunctionDescription() string {
	if t.Contract == "003" {
		return "Invoke a skill to apply specialized expertise and capabilities"
	}
	return ""
}
