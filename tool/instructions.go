package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

const (
	// headLength is the length of the first line of the instructions, which is complete by
	// itself. Codex 0.169.0 shows a current model the first 247 characters of it, and
	// nothing else of this server.
	headLength = 240
	// listedElsewhere bounds the instructions for a client whose model sees the list of
	// skills in a tool's description too.
	listedElsewhere = 4096
	// unreadNotes and skippedNames bound the text about missing skills; the tools' answers
	// have more.
	unreadNotes, skippedNames = 3, 5
	noteLength                = 300
)

// Instructions tell a model at the start of a session what this server has, when to use it
// and what to call. The first [headLength] characters are a summary: the number of skills,
// the tool that loads them, and their names or topics. The rest is for clients that show
// more: names with descriptions, up to the client's limit, the project's skills first, and
// then the missing ones. Notes are sentences for the end.
//
// With the zero View the text says that the skills are still being read.
func Instructions(v catalog.View, tools []*Tool, c Client, notes ...string) string {
	g := guide{habits: c.habits(), search: more(tools)}
	if g.load = loader(v, tools); g.load == nil {
		return ""
	}
	if v.Snapshot == nil {
		return paragraphs(append([]string{g.unread(), g.usage(tools)}, notes...)...)
	}
	skills := g.skills(v)
	top, all := g.head(v, skills)
	if len(skills) > 0 {
		top = paragraphs(top, g.usage(tools))
	}
	end := paragraphs(append(g.notLoaded(v, tools), notes...)...)
	used := length(top) + length(end) + 2*len("\n\n")
	return paragraphs(top, g.list(v, c, skills, all, used), end)
}

// paragraphs joins texts, without empty ones.
func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}

// guide writes the instructions for one client and one set of tools.
type guide struct {
	habits
	load   *Tool
	search string // the tool that lists or searches skills, or empty
}

// loader is the tool that loads a skill: of several the one that loads the most, and of
// these the first.
func loader(v catalog.View, tools []*Tool) *Tool {
	var best *Tool
	most := -1
	for _, t := range tools {
		switch t.Name {
		case "skill", "Skill", "get_skill":
			n := 0
			if v.Snapshot != nil {
				n = len(Offered(v, []*Tool{t}))
			}
			if n > most {
				best, most = t, n
			}
		}
	}
	return best
}

// skills lists the skills that the tool loads, by its argument, the project's first.
func (g guide) skills(v catalog.View) []*catalog.Entry {
	skills := asCalled(v, []*Tool{g.load})
	if g.load.Contract == "004" { // it also accepts skill://NAME/SKILL.md
		skills = renamed(addressable(v), func(e *catalog.Entry) string {
			if e.By == nil {
				return e.Name
			}
			return v.Called(e)
		})
	}
	byRank := func(a, b *catalog.Entry) int { return rank(a) - rank(b) }
	if !slices.IsSortedFunc(skills, byRank) {
		skills = slices.Clone(skills)
		slices.SortStableFunc(skills, byRank)
	}
	return skills
}

// call returns the model's call of the tool that loads skills.
func (g guide) call() string {
	s := g.tool(g.load.Name)
	if g.title == "" {
		s = "this server's tool " + s
	}
	if g.load.Contract == "004" {
		s += " (uri skill://NAME/SKILL.md)"
	}
	return s
}

// unread returns the head while the skills are being read.
func (g guide) unread() string {
	s := "The skills of this server, instructions for particular tasks, are still being read. Before a task, "
	if g.search != "" {
		s += "see with " + g.tool(g.search) + " which there are, and "
	}
	return s + "load the one that fits with " + g.call() + "."
}

// head returns the summary line.
func (g guide) head(v catalog.View, skills []*catalog.Entry) (text string, all bool) {
	late := slices.ContainsFunc(v.Roots, catalog.RootStatus.Late)
	switch {
	case late && len(skills) == 0:
		return g.unread(), true
	case len(skills) == 0 && g.search != "":
		return "This server has no skills (instructions for particular tasks) now. When the user asks for one, look again with " + g.tool(g.search) + ".", true
	case len(skills) == 0:
		return "This server has no skills (instructions for particular tasks) now.", true
	}
	text = skill.Count(len(skills), "skill")
	if late {
		text += " so far"
	}
	if len(skills) == 1 {
		text += ": instructions for a particular task. If it may fit yours"
	} else {
		text += ": instructions for particular tasks. If one may fit yours"
	}
	text += ", load it first with " + g.call() + "."
	search := g.search
	if search != "" {
		search = "`" + search + "`" // there is no room for more than the bare name
	}
	named, all := telling(skills, headLength-length(text), search)
	return text + named, all
}

// usage explains what does not fit into the head.
func (g guide) usage(tools []*Tool) string {
	var s []string
	switch {
	case g.own != "":
		s = append(s, "The application's own tool `"+g.own+"` does not know these skills.")
	case g.title == "":
		s = append(s, "If the application has a tool of its own for skills, that one does not know these.")
	}
	if find(tools, "read_file_in_skill") != nil {
		s = append(s, g.tool("read_file_in_skill")+" reads the other files of a skill.")
	}
	if find(tools, findName) != nil {
		s = append(s, g.tool(findName)+" searches all skills by topic.")
	}
	return strings.Join(s, " ")
}

// found returns the client's name for the search tool, or "".
func (g guide) found() string {
	if g.search == "" {
		return ""
	}
	return g.tool(g.search)
}

// list returns the list of skills, beside used characters of other text. It repeats nothing
// that the model sees in the tool's description: if that has the descriptions, the list has
// names alone, and is empty if all of them are in the head.
func (g guide) list(v catalog.View, c Client, skills []*catalog.Entry, all bool, used int) string {
	if len(skills) == 0 {
		return ""
	}
	const title, byName = "The skills:\n", "By name: "
	rows := &rows{entries: skills}
	room := func(limit int, title string) int { return max(limit-used-len(title), leastBudget) }
	if !g.lists || g.load.form == nil {
		text, _ := arrange(rows, bullets, escapeXML, room(g.instructions, title), g.found())
		return title + text
	}
	described := g.load.form(v, c) != FormNames
	if !described {
		if text, a := arrange(rows, bullets, escapeXML, room(g.instructions, title), g.found()); a.form != FormNames {
			return title + text
		}
	}
	each := "each"
	if len(skills) == 1 {
		each = "it"
	}
	where := "For what " + each + " does, see the description of " + g.tool(g.load.Name) + "."
	switch {
	case !described:
		where = shortened(g.found(), "descriptions are left out")
	case all:
		return where
	}
	text, _ := names(rows, escapeXML, room(min(g.instructions, listedElsewhere), byName), where, g.found())
	return byName + text
}

// notLoaded names the roots that were not read, and the skipped skills.
func (g guide) notLoaded(v catalog.View, tools []*Tool) (out []string) {
	roots := unread(v)
	for _, p := range roots[:min(len(roots), unreadNotes)] {
		out = append(out, Cut(p.line(), noteLength))
	}
	skipped := skippedOfLists(v)
	if len(skipped) == 0 || g.load.Contract == "000" { // the tool loads them all the same
		return out
	}
	var some []string
	for _, e := range skipped[:min(len(skipped), skippedNames)] {
		some = append(some, Cut(escapeXML(skill.OneLine(calledOrFolder(e))), longestTelling))
	}
	s := were(len(skipped), "skill", "skills") + " skipped: " + strings.Join(some, ", ")
	if left := len(skipped) - len(some); left > 0 {
		s += fmt.Sprintf(" and %d more", left)
	}
	if find(tools, findName) != nil {
		return append(out, s+". "+g.tool(findName)+" says why.")
	}
	return append(out, s+". The command `knack list --all` says why.")
}

func were(n int, what, several string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %s were", n, several)
}
