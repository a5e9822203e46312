package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
)

const (
	// headLength is the length of the first line of the instructions, which is complete by
	// itself: Codex 0.169.0 shows a current model its first 247 characters, and nothing
	// else of this server.
	headLength = 240
	// listedElsewhere bounds the instructions for a client whose model sees the list of
	// skills in a tool's description too.
	listedElsewhere = 4096
	// unreadNotes and skippedNames bound the text about missing skills; the tools' answers
	// have more.
	unreadNotes, skippedNames = 3, 5
	noteLength                = 300
)

// Instructions tell a model at the start of a session what this server has, when to use
// it and what to call. The first line, of at most [headLength] characters, is complete by
// itself: it has the names of skills or their topics, and the tool that loads them. The
// rest is for clients that show more: names with descriptions, as many as this client
// shows, the project's skills first, and then what is missing. Notes are sentences for
// the end.
//
// They are Markdown in which a skill cannot begin a line. With the zero View they say that
// the skills are still being read.
func Instructions(v catalog.View, tools []*Tool, c Client, notes ...string) string {
	g := guide{habits: c.habits(), search: more(tools)}
	if g.load = loader(v, tools); g.load == nil {
		return ""
	}
	if v.Snapshot == nil {
		return paragraphs(append([]string{g.unread(), g.usage(nil, tools)}, notes...)...)
	}
	skills := g.skills(v)
	top, told := g.head(v, skills)
	if len(skills) > 0 {
		top = paragraphs(top, g.usage(skills, tools))
	}
	end := paragraphs(append(g.notLoaded(v, tools), notes...)...)
	used := length(top) + length(end) + 2*len("\n\n")
	return paragraphs(top, g.list(v, c, skills, told, used), end)
}

// paragraphs joins the texts that are not empty.
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

// call names the tool that loads skills.
func (g guide) call() string {
	s := g.tool(g.load.Name)
	if !g.exact {
		s = "this server's tool " + s
	}
	if g.load.Contract == "004" {
		s += " (uri skill://NAME/SKILL.md)"
	}
	return s
}

// unread is the head before the first scan.
func (g guide) unread() string {
	s := "The skills of this server, instructions for particular tasks, are still being read. Before a task, "
	if g.search != "" {
		s += "see with " + g.tool(g.search) + " which there are, and "
	}
	return s + "load the one that fits with " + g.call() + "."
}

// head is the first line, with the names that are in it.
func (g guide) head(v catalog.View, skills []*catalog.Entry) (text string, told []string) {
	late := v.Incomplete() != nil || slices.ContainsFunc(v.Roots, catalog.RootStatus.Late)
	switch {
	case late && len(skills) == 0:
		return g.unread(), nil
	case len(skills) == 0:
		text = "This server has no skills (instructions for particular tasks) now."
		unlisted := func(e *catalog.Entry) bool { return e.Status == catalog.Unlisted && e.ModelInvocable }
		if slices.ContainsFunc(v.Entries, unlisted) {
			which := "it leaves to the application"
			if slices.ContainsFunc(v.Entries, func(e *catalog.Entry) bool { return unlisted(e) && !e.Root.IsShownBy(g.title) }) {
				which = "it was told to leave out" // by --exclude, for the user's own reasons
			}
			text = "This server lists no skills (instructions for particular tasks). Those in folders that " + which + " load by name with " + g.call() + "."
		}
		if g.search != "" {
			text += " If the user asks for one, search with " + g.tool(g.search) + "."
		}
		return text, nil
	}
	text = display.Count(len(skills), "skill")
	if late {
		text += " so far"
	}
	load := " First load what fits, with " + g.call() + "."
	if len(skills) == 1 {
		load = " If it fits the task, load it first with " + g.call() + "."
	}
	search := g.search
	if search != "" {
		search = "`" + search + "`" // there is no room for more than the bare name
	}
	named, told := telling(skills, headLength-length(text)-length(load), search)
	return text + cmp.Or(named, ".") + load, told
}

// usage has what does not fit into the head.
func (g guide) usage(skills []*catalog.Entry, tools []*Tool) string {
	var s []string
	if len(skills) > 0 { // else the head says it
		s = append(s, "A skill is instructions for one kind of task.")
	}
	if g.prefix != "" && !g.exact {
		s = append(s, fmt.Sprintf("If this server is called %s, that tool is `%s`.", serverName, g.prefix+g.load.Name))
	}
	shown := func(e *catalog.Entry) bool { return e.Root.IsShownBy(g.title) }
	switch {
	case g.own == "" && g.title == "":
		s = append(s, "If the application has a tool of its own for skills, that one does not know these.")
	case g.own == "":
	case !slices.ContainsFunc(skills, shown):
		s = append(s, "The application's own tool `"+g.own+"` does not know these skills.")
	case !slices.ContainsFunc(skills, func(e *catalog.Entry) bool { return !shown(e) }):
		s = append(s, "The application's own tool `"+g.own+"` knows these skills too.")
	default:
		s = append(s, "The application's own tool `"+g.own+"` knows only some of these skills.")
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

// list is the list of skills, beside used characters of other text. If the model sees
// descriptions of all skills in the description of the tool, this is the names alone, or
// nothing if all of them are in the head. Names that are left out there come first here,
// and those of the head not again if there is no room for all: so the model sees as many
// as possible.
func (g guide) list(v catalog.View, c Client, skills []*catalog.Entry, told []string, used int) string {
	if len(skills) == 0 {
		return ""
	}
	byName := func(most int, note string) string {
		const all, others = "By name: ", "Others by name: "
		text, left := names(&rows{entries: skills}, plain, g.room(most, used, all), note, g.found())
		if len(told) == 0 || !left.any(len(skills)) {
			return all + text
		}
		skills = slices.DeleteFunc(slices.Clone(skills), func(e *catalog.Entry) bool { return slices.Contains(told, display.OneLine(e.Name)) })
		text, _ = names(&rows{entries: skills}, plain, g.room(most, used, others), note, g.found())
		return others + text
	}
	leftOut := shortened(g.found(), "descriptions are left out")
	var there arranged
	if g.lists && g.load.arranged != nil {
		there = g.load.arranged(v, c)
	}
	switch there.form {
	case "", FormNames:
		const title = "The skills:\n"
		text, a := arrange(&rows{entries: skills}, items, plain, g.room(g.instructions, used, title), g.found())
		if a.form != FormNames {
			return title + text
		}
		if there.form == "" {
			return byName(g.instructions, leftOut)
		}
		if there.left.any(len(v.Listed)) {
			skills = leftFirst(v.Listed, there.left, skills)
			return byName(g.instructions, leftOut)
		}
		text = byName(min(g.instructions, listedElsewhere), leftOut)
		if at := strings.LastIndex(text, ", not shown to fit; "); at > strings.LastIndexByte(text, '\n') { // they are shown, but there
			text = text[:at] + ", named in the description of " + g.tool(g.load.Name) + ")"
		}
		return text
	}
	each := "each"
	if len(skills) == 1 {
		each = "it"
	}
	where := "For what " + each + " does, see the description of " + g.tool(g.load.Name) + "."
	if len(told) == len(skills) {
		return where
	}
	return byName(min(g.instructions, listedElsewhere), where)
}

// room is how many characters a list may have below a title, beside used others.
func (g guide) room(most, used int, title string) int {
	return max(most-used-len(title), leastBudget)
}

// leftFirst orders skills so that those that a list leaves out come first.
func leftFirst(listed []*catalog.Entry, out left, skills []*catalog.Entry) []*catalog.Entry {
	kept := map[*catalog.Entry]bool{}
	for i, e := range listed[:min(out.from, len(listed))] {
		if !out.has(i) {
			kept[e] = true
		}
	}
	var first, last []*catalog.Entry
	for _, e := range skills {
		if kept[e] {
			last = append(last, e)
		} else {
			first = append(first, e)
		}
	}
	return append(first, last...)
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
		some = append(some, Cut(display.OneLine(calledOrFolder(e)), longestTelling))
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
