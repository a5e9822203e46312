package tool

import (
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
	"github.com/knack-dev/knack/tool/wave"
)

// Prompt returns the list of skills as text for a system prompt, with sentences on how to use the
// tools. It is for agents whose tool descriptions contain no list or a short one. The list stays
// within [listing.Budget].
func Prompt(v catalog.View, tools []*Tool) string {
	var b strings.Builder
	b.WriteString("You have skills: instructions for particular kinds of task.")
	b.WriteString(usage(tools))
	if find(tools, "read_file_in_skill") != nil {
		b.WriteString(" Files that a skill mentions are read with the tool read_file_in_skill.")
	}
	b.WriteString("\n\n<available_skills>\n")
	b.WriteString(promptList(v, tools))
	b.WriteString("\n</available_skills>\n")
	return b.String()
}

// promptList returns the list of the prompt. For the tool skill, it is laid out like the list for a
// client, and uses its whole budget.
func promptList(v catalog.View, tools []*Tool) string {
	skills, search := loadable(v, tools), searchTool(tools)
	if load := loader(v, tools); load == nil || load.lay == nil || listing.IncompleteNote(v, search) != "" {
		return listing.Render(v, skills, listing.EscapedBullets, listing.Budget, search)
	}
	place := listing.Place{Budget: listing.Budget, Whole: listing.EscapedBullets, Row: listing.EscapedBullets, Search: search}
	texts, _ := listing.Lay(skills, listing.Order(v, skills, false), profile.UTF16, place)
	return texts[0]
}

// usage describes the purpose of each tool.
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

// loadable returns the skills that the first loading tool can load.
func loadable(v catalog.View, tools []*Tool) []*catalog.Entry {
	for _, t := range tools {
		switch t.Contract {
		case "002":
			return v.Listed
		case "003":
			return wave.Skills(v)
		case "000":
			return renamed(documentedSkills(v), func(e *catalog.Entry) string { return e.Folder() })
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
		visible := *e
		visible.Skill = &s
		out[i] = &visible
	}
	return out
}

// searchTool returns the tool that shows the rest of a list, or "" if the set has none.
func searchTool(tools []*Tool) string {
	for _, name := range []string{findName, "list_skills"} {
		if find(tools, name) != nil {
			return name
		}
	}
	return ""
}
