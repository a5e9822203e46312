package tool

import (
	"slices"
	"strings"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// This file lays out the list of skills of the default set. The list is spread over two places: the
// description of the tool skill, and the instructions.

const (
	// endReserve is the maximum length that is reserved in the instructions for the note on missing
	// skills. notesReserve is always reserved for other notes.
	endReserve, notesReserve = 500, 60
	// repeatedInstructions bounds the instructions for a client that repeats them with each tool.
	repeatedInstructions = 1000
)

// laid is the list of skills as it was laid out for a client.
type laid struct {
	description, instructions string       // the list's part in each place; instructions is usually empty
	budget                    int          // the budget of both parts
	told                      profile.Told // the skills of the part in the instructions
	listing.Arrangement                    // the arrangement of the skills that were laid out
}

// layKey is the key under which a snapshot caches a list. It contains everything on which the list
// depends.
type layKey struct {
	agent                     string // the client, whose own skills are left out
	unit                      profile.Unit
	description, instructions int
	search                    string
	told                      profile.Told // the skills to leave out
}

// layOut lays out the list of skills for a client. other is the length of the other text in the
// description. If the client shows both places, skills without room in the description go into the
// instructions, within the budget of all lists. Otherwise each place has a separate list.
//
// A session gets its instructions only once. If the instructions would now name different skills,
// the description names all skills that they did not name, as far as it has room.
func layOut(v catalog.View, c profile.Client, other int) laid {
	p := c.Profile()
	note := listing.IncompleteNote(v, findName)
	budget := listing.BudgetFor(c, other)
	skills := v.ListedFor(c.Agent())
	if note != "" && (budget < listing.MinBudget || len(skills) == 0) {
		return laid{description: listing.Render(v, skills, listing.Elements, budget, findName), budget: budget, told: profile.Told{Known: true}, Arrangement: listing.Arrangement{Described: true}}
	}
	key := layKey{agent: c.Agent(), unit: p.Unit, description: budget, search: p.ToolName(findName)}
	if note != "" {
		note = "\n" + note
		key.description -= p.Unit.Length(note)
	}
	if isShared(p) {
		g := guide{Profile: p, agent: c.Agent(), search: findName, load: &Tool{Name: "skill", Contract: "002", lay: func(catalog.View, profile.Client) laid { return laid{} }}}
		if room := min(p.Instructions-g.around(v), listing.Budget-budget); room >= listing.MinBudget {
			key.instructions = room
		}
	}
	l := catalog.Keep(v.Snapshot, key, func() laid { return key.lay(v) })
	if isShared(p) && c.Told.Known && c.Told != l.told {
		key.instructions, key.told = 0, c.Told
		l = catalog.Keep(v.Snapshot, key, func() laid { return key.lay(v) })
	}
	l.description += note
	return l
}

func (k layKey) lay(v catalog.View) laid {
	places := []listing.Place{{Budget: k.description, Whole: listing.Elements, Row: listing.EscapedBullets, Search: findName}}
	if k.instructions > 0 {
		places = append(places, listing.Place{Budget: k.instructions, Whole: listing.Markdown, Row: listing.Markdown, Search: k.search})
	}
	all := v.ListedFor(k.agent)
	skills := untold(all, k.told)
	if len(skills) == 0 && len(all) > 0 {
		return laid{description: allTold, budget: k.description}
	}
	texts, a := listing.Lay(skills, listing.Order(v, skills, false), k.unit, places...)
	l := laid{description: texts[0], budget: k.description + k.instructions, told: profile.Told{Known: true}, Arrangement: a}
	if len(texts) > 1 {
		l.instructions = texts[1]
		l.told.Names, l.told.Left = toldBy(skills, a)
	}
	return l
}

// allTold is the list of a description whose skills are all in the instructions.
const allTold = "(see the instructions)"

// untold returns the skills whose names the client has not seen.
func untold(skills []*catalog.Entry, told profile.Told) []*catalog.Entry {
	if told.Names == "" {
		return skills
	}
	names := map[string]bool{}
	for name := range strings.SplitSeq(told.Names, "\n") {
		names[name] = true
	}
	return slices.DeleteFunc(slices.Clone(skills), func(e *catalog.Entry) bool { return names[display.OneLine(e.Name)] })
}

// toldBy returns the names that an arrangement puts into its second place, each with a line end,
// and the number of skills that it leaves out.
func toldBy(skills []*catalog.Entry, a listing.Arrangement) (names string, left int) {
	var b strings.Builder
	for i, e := range skills {
		switch {
		case a.Omits(i):
			left++
		case a.IsSecond(i):
			b.WriteString(display.OneLine(e.Name) + "\n")
		}
	}
	return b.String(), left
}

// Told returns the part of the list of skills that is in the [Instructions] and not in the
// description of the tool. It is zero unless the client and the tools have one list for both
// places.
func Told(v catalog.View, tools []*Tool, c profile.Client) profile.Told {
	load := loader(v, tools)
	switch {
	case load == nil || load.lay == nil || !isShared(c.Profile()):
		return profile.Told{}
	case v.Snapshot == nil: // the instructions have no list
		return profile.Told{Known: true}
	}
	return load.lay(v, c).told
}

// isShared reports whether a client is known to show both the description and the instructions.
func isShared(p profile.Profile) bool {
	return p.ShowsList && !p.HidesInstructions && !p.RepeatsInstructions
}

// ownList returns a list of skills in at most room units, for the instructions of a client that may
// not show the description. named are the names in the text before the list. If not all names fit,
// the list leaves these out.
func ownList(v catalog.View, all []*catalog.Entry, p profile.Profile, room int, named []string) string {
	place := listing.Place{Budget: room, Whole: listing.Markdown, Row: listing.Markdown, Search: p.ToolName(findName)}
	title, skills, order := theSkills, all, listing.Order(v, all, false)
	if len(named) > 0 && !listing.Names(all, order, p.Unit, place) {
		title, skills = otherSkills, slices.DeleteFunc(slices.Clone(all), func(e *catalog.Entry) bool { return slices.Contains(named, display.OneLine(e.Name)) })
		order = listing.Order(v, skills, false)
	}
	texts, _ := listing.Lay(skills, order, p.Unit, place)
	return title + texts[0]
}

// The titles of the lists in the instructions.
const (
	theSkills   = "The skills:\n"
	otherSkills = "Other skills:\n"
)
