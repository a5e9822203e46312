package tool

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

const (
	// headLength bounds the first line of the instructions. The line is complete by itself, because
	// Codex 0.169.0 shows a current model only its first 247 characters.
	headLength = 240
	// listedElsewhere bounds the instructions for a client whose model sees the list of
	// skills in a tool's description too.
	listedElsewhere = 4096
	// unreadNotes and skippedNames bound the unread roots and the skipped skills that the
	// instructions name. noteLength bounds the text about one root. The answers of the tools name
	// more.
	unreadNotes, skippedNames = 3, 5
	noteLength                = 300
	// skippedLength bounds the name of a skipped skill.
	skippedLength = 40
)

// Instructions returns the text that a model gets at the start of a session. It tells the model
// which skills this server has, when to use them, and which tool to call. The first line, of at
// most 240 characters, is complete by itself. It contains the names of skills or their topics, and
// the tool that loads them. The rest is for clients that show more: as many names with descriptions
// as fit, the project's skills first, and then a note on the other skills. notes are further
// sentences for the end.
//
// The text is Markdown, and no text of a skill begins a line in it. For the zero View, the text
// tells that the skills are still being read.
func Instructions(v catalog.View, tools []*Tool, c profile.Client, notes ...string) string {
	g := guide{Profile: c.Profile(), agent: c.Agent(), search: searchTool(tools)}
	if g.load = loader(v, tools); g.load == nil {
		return ""
	}
	if v.Snapshot == nil {
		return paragraphs(append([]string{g.pending(), g.usage(nil, tools)}, notes...)...)
	}
	skills := g.skills(v)
	top, named := g.head(v, skills)
	if len(skills) > 0 {
		top = paragraphs(top, g.usage(skills, tools))
	}
	end := append(g.notLoaded(v, tools), notes...)
	if g.load.lay != nil {
		return g.within(v, c, top, named, end)
	}
	used := display.Length(top) + display.Length(paragraphs(end...)) + 2*len("\n\n")
	return paragraphs(top, g.list(v, c, skills, named, used), paragraphs(end...))
}

// within composes the instructions of the default set: top, the list of skills, and the paragraphs
// of end that fit.
func (g guide) within(v catalog.View, c profile.Client, top string, named, end []string) string {
	most := g.Instructions
	if g.RepeatsInstructions {
		most = min(most, repeatedInstructions)
	}
	part := ""
	skills := v.ListedFor(g.agent)
	if !g.HidesInstructions && len(skills) > 0 {
		part = g.load.lay(v, c).instructions
	}
	if part != "" {
		part = g.moreSkills() + part
	}
	isOwn := !g.ShowsList && !g.RepeatsInstructions && len(skills) > 0
	left := most - g.Unit.Length(paragraphs(top, part))
	if isOwn {
		left -= listing.MinBudget + len("\n\n"+otherSkills)
	}
	fitting := end[:0]
	for _, s := range end {
		if n := g.Unit.Length(s + "\n\n"); n <= left {
			fitting, left = append(fitting, s), left-n
		}
	}
	if isOwn {
		part = ownList(v, skills, g.Profile, left+listing.MinBudget, named)
	}
	return paragraphs(top, part, paragraphs(fitting...))
}

// paragraphs joins the texts that are not empty.
func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
}

// moreSkills is the title of the list's part in the instructions.
func (g guide) moreSkills() string {
	return "More skills, the others are in the description of " + g.ToolName(g.load.Name) + ":\n"
}

// around returns the length of the default set's instructions without the list. For their end, it
// counts at most [endReserve].
func (g guide) around(v catalog.View) int {
	skills := v.ListedFor(g.agent)
	top, _ := g.head(v, skills)
	text := paragraphs(top, g.usage(skills, defaultNames), g.moreSkills())
	end := paragraphs(g.notLoaded(v, defaultNames)...)
	return g.Unit.Length(text) + min(g.Unit.Length(end), endReserve) + notesReserve
}

// defaultNames contains the names of the default set's tools.
var defaultNames = []*Tool{{Name: "skill"}, {Name: "read_file_in_skill"}, {Name: findName}}

// guide writes the instructions for one client and one set of tools.
type guide struct {
	profile.Profile
	agent  string // the client's name in the table of agents, or empty
	load   *Tool
	search string // the tool that lists or searches skills, or empty
}

// loader returns the tool that loads skills. Of several, it returns the one that loads the most
// skills; of equal ones, the first.
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

// skills returns the skills that the loading tool accepts, under the names that it accepts. The
// project's skills come first. In the default set, the skills that the client shows itself are left
// out.
func (g guide) skills(v catalog.View) []*catalog.Entry {
	if g.load.lay != nil {
		return listing.ByOwner(v.ListedFor(g.agent))
	}
	skills := loadable(v, []*Tool{g.load})
	if g.load.Contract == "004" { // the tool also accepts skill://NAME/SKILL.md
		skills = renamed(addressable(v), func(e *catalog.Entry) string {
			if e.By == nil {
				return e.Name
			}
			return v.Called(e)
		})
	}
	return listing.ByOwner(skills)
}

// call returns the name of the tool that loads skills.
func (g guide) call() string {
	s := g.ToolName(g.load.Name)
	if !g.Exact {
		s = "this server's tool " + s
	}
	if g.load.Contract == "004" {
		s += " (uri skill://NAME/SKILL.md)"
	}
	return s
}

// pending returns the head before the first scan.
func (g guide) pending() string {
	s := "The skills of this server, instructions for particular tasks, are still being read. Before a task, "
	if g.search != "" {
		s += "see with " + g.ToolName(g.search) + " which there are, and "
	}
	return s + "load the one that fits with " + g.call() + "."
}

// head returns the first line, and the names in it.
func (g guide) head(v catalog.View, skills []*catalog.Entry) (text string, named []string) {
	late := v.Incomplete() != nil || slices.ContainsFunc(v.Roots, catalog.RootStatus.Late)
	switch {
	case late && len(skills) == 0:
		return g.pending(), nil
	case len(skills) == 0:
		text = "This server has no skills (instructions for particular tasks) now."
		unlisted := func(e *catalog.Entry) bool { return e.Status == catalog.Unlisted && e.ModelInvocable }
		if len(v.Listed) > 0 || slices.ContainsFunc(v.Entries, unlisted) {
			which := "it leaves to the application"
			if slices.ContainsFunc(v.Entries, func(e *catalog.Entry) bool { return unlisted(e) && !e.Root.IsShownBy(g.Title) }) {
				which = "it is configured to leave out" // by --exclude; the user's reasons are unknown
			}
			text = "This server lists no skills (instructions for particular tasks). Those in folders that " + which + " load by name with " + g.call() + "."
		}
		if g.search != "" {
			text += " If the user asks for one, search with " + g.ToolName(g.search) + "."
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
		search = "`" + search + "`" // only the bare name fits
	}
	room, summary := headLength-display.Length(text)-display.Length(load), ""
	switch {
	case g.load.lay == nil:
		summary, named = listing.Summary(skills, room, search)
	case !g.ShowsList: // otherwise the list is in the description
		summary, named = listing.Head(skills, listing.Order(v, skills, true), room, search)
	}
	return text + cmp.Or(summary, ".") + load, named
}

// usage returns the sentences after the head, about the use of the skills.
func (g guide) usage(skills []*catalog.Entry, tools []*Tool) string {
	var s []string
	if len(skills) > 0 { // without skills, the head explains the word
		s = append(s, "A skill is instructions for one kind of task.")
	}
	if g.Prefix != "" && !g.Exact {
		s = append(s, fmt.Sprintf("If this server is called %s, that tool is `%s`.", profile.ServerName, g.Prefix+g.load.Name))
	}
	inGroup := func(e *catalog.Entry) bool { return e.Root.IsShownBy(g.Title) }
	switch {
	case g.OwnTool == "" && g.Title == "":
		s = append(s, "If the application has a tool of its own for skills, that one does not know these.")
	case g.OwnTool == "":
	case !slices.ContainsFunc(skills, inGroup):
		s = append(s, "The application's own tool `"+g.OwnTool+"` does not know these skills.")
	case !slices.ContainsFunc(skills, func(e *catalog.Entry) bool { return !inGroup(e) }):
		s = append(s, "The application's own tool `"+g.OwnTool+"` knows these skills too.")
	default:
		s = append(s, "The application's own tool `"+g.OwnTool+"` knows only some of these skills.")
	}
	if find(tools, "read_file_in_skill") != nil {
		s = append(s, g.ToolName("read_file_in_skill")+" reads the other files of a skill.")
	}
	if find(tools, findName) != nil {
		s = append(s, g.ToolName(findName)+" searches all skills by topic.")
	}
	return strings.Join(s, " ")
}

// searchName returns the client's name for the search tool, or "".
func (g guide) searchName() string {
	if g.search == "" {
		return ""
	}
	return g.ToolName(g.search)
}

// list returns the list of skills. used is the length of the other text. If the tool's description
// already describes all skills, the list contains only names. It is empty if the head contains all
// of these.
//
// The model should see as many names as possible. So names that the tool's description leaves out
// come first. If not all names fit, names of the head are not repeated.
func (g guide) list(v catalog.View, c profile.Client, skills []*catalog.Entry, named []string, used int) string {
	if len(skills) == 0 {
		return ""
	}
	byName := func(most int, note string) string {
		const all, others = "By name: ", "Others by name: "
		text, a := listing.Of(skills).Names(g.room(most, used, all), note, g.searchName())
		if len(named) == 0 || !a.OmitsAny() {
			return all + text
		}
		skills = slices.DeleteFunc(slices.Clone(skills), func(e *catalog.Entry) bool { return slices.Contains(named, display.OneLine(e.Name)) })
		text, _ = listing.Of(skills).Names(g.room(most, used, others), note, g.searchName())
		return others + text
	}
	var there listing.Arrangement // the arrangement in the tool's description
	isThere := g.ShowsList && g.load.arranged != nil
	if isThere {
		there = g.load.arranged(v, c)
	}
	if !there.Described {
		const title = "The skills:\n"
		text, here := listing.Of(skills).Arrange(listing.Markdown, g.room(g.Instructions, used, title), g.searchName())
		if here.Described {
			return title + text
		}
		if !isThere {
			return byName(g.Instructions, "")
		}
		if there.OmitsAny() {
			skills = omittedFirst(v.Listed, there, skills)
			return byName(g.Instructions, "")
		}
		text = byName(min(g.Instructions, listedElsewhere), "")
		if at := strings.LastIndex(text, ", not shown to fit; "); at > strings.LastIndexByte(text, '\n') { // the names are not missing; the description shows them
			text = text[:at] + ", named in the description of " + g.ToolName(g.load.Name) + ")"
		}
		return text
	}
	each := "each"
	if len(skills) == 1 {
		each = "it"
	}
	where := "For what " + each + " does, see the description of " + g.ToolName(g.load.Name) + "."
	if len(named) == len(skills) {
		return where
	}
	return byName(min(g.Instructions, listedElsewhere), where)
}

// room returns the number of characters left for a list below a title, if other text takes used
// characters.
func (g guide) room(most, used int, title string) int {
	return max(most-used-len(title), listing.MinBudget)
}

// omittedFirst moves the skills that the other list omits to the front. listed contains the skills
// of that list, and a is its arrangement.
func omittedFirst(entries []*catalog.Entry, a listing.Arrangement, skills []*catalog.Entry) []*catalog.Entry {
	chosen := map[*catalog.Entry]bool{}
	for i, e := range entries {
		if !a.Omits(i) {
			chosen[e] = true
		}
	}
	var first, last []*catalog.Entry
	for _, e := range skills {
		if chosen[e] {
			last = append(last, e)
		} else {
			first = append(first, e)
		}
	}
	return append(first, last...)
}

// notLoaded returns sentences that name the roots that were not read, and the skipped skills.
func (g guide) notLoaded(v catalog.View, tools []*Tool) (out []string) {
	roots := unread(v)
	for _, p := range roots[:min(len(roots), unreadNotes)] {
		out = append(out, display.Cut(p.line(), noteLength))
	}
	skipped := skippedOfLists(v)
	if len(skipped) == 0 || g.load.Contract == "000" { // the tool also loads skipped skills
		return out
	}
	var some []string
	for _, e := range skipped[:min(len(skipped), skippedNames)] {
		some = append(some, display.Cut(display.OneLine(nameOrFolder(e)), skippedLength))
	}
	s := countWere(len(skipped), "skill", "skills") + " skipped: " + strings.Join(some, ", ")
	if left := len(skipped) - len(some); left > 0 {
		s += fmt.Sprintf(" and %d more", left)
	}
	if find(tools, findName) != nil {
		return append(out, s+". "+g.ToolName(findName)+" says why.")
	}
	return append(out, s+". The command `knack list --all` says why.")
}

func countWere(n int, what, several string) string {
	if n == 1 {
		return "1 " + what + " was"
	}
	return fmt.Sprintf("%d %s were", n, several)
}
