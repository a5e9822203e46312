// Package listing writes lists of skills that fit a client's limits: with whole descriptions, with
// cut ones, as names only, or as one sentence with the topics of the unnamed skills.
package listing

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
	"github.com/knack-dev/knack/tool/profile"
)

const (
	// Budget is the largest list of skills, in characters (contracts.md).
	Budget = 16_000
	// MinBudget is the smallest budget for a list with whole sentences: some names, and the name of
	// the tool that shows the rest.
	MinBudget = 200
	// LeastBudget is the smallest budget of any list: a line with the number of skills and the tool
	// that lists them. Contract 002 leaves 50 of 1,024 characters.
	LeastBudget = 48

	// minDescription is the length of the shortest useful description. With less room, a list
	// contains only names.
	minDescription = 24

	// none is the text of a list without skills.
	none = "(none)"
)

// BudgetFor returns the budget of a list in a description with the given number of other
// characters: [Budget], unless the client shows less or the operator has set another limit.
func BudgetFor(c profile.Client, other int) int {
	limit, most := c.Profile().Description, Budget
	if c.Limit > 0 {
		most = c.Limit
	}
	if limit <= 0 {
		return most
	}
	return max(min(most, limit-other), LeastBudget)
}

// Skills are the skills of a list, in order. Rows are made on demand, so a very long list makes
// only its first rows.
type Skills struct {
	entries []*catalog.Entry
	rows    []row
}

// row is one skill as a list shows it.
type row struct{ name, description string }

// Of returns the entries as the skills of a list.
func Of(entries []*catalog.Entry) *Skills { return &Skills{entries: entries} }

// row returns the row of a skill, perhaps without its description.
func (s *Skills) row(i int) row {
	if s.rows == nil { // make room for about as many rows as the longest list has
		s.rows = make([]row, 0, min(len(s.entries), Budget/16))
	}
	for len(s.rows) <= i {
		e := s.entries[len(s.rows)]
		s.rows = append(s.rows, row{name: display.OneLine(e.Name)})
	}
	return s.rows[i]
}

// described returns all rows with their descriptions.
func (s *Skills) described() []row {
	if n := len(s.entries); n > 0 {
		s.rows = slices.Grow(s.rows, n-len(s.rows))
		s.row(n - 1)
	}
	for i, e := range s.entries {
		if s.rows[i].description == "" {
			s.rows[i].description = display.OneLine(e.Description)
		}
	}
	return s.rows
}

// Location returns "project" for a skill of the project, else "global" (contract 002).
func Location(e *catalog.Entry) string {
	if e.Root.Scope == skill.ScopeProject {
		return "project"
	}
	return "global"
}

// Arrangement describes the content of a list after fitting.
type Arrangement struct {
	// Described is set if the list has descriptions. Otherwise it has only names.
	Described bool
	// Cut is the length in characters above which a description is cut, or 0.
	Cut int

	omitted  []int // indexes of the omitted names before rest, in order
	rest     int   // index from which all names are omitted
	complete int   // number of skills

	details []detail // by skill; nil if all skills are shown alike; see [Lay]
	second  []bool   // by skill, whether it is in the second place; nil if the first has all
}

// detail is the part of a skill that a list shows.
type detail uint8

const (
	isAbsent detail = iota
	isNamed
	isCut
	isWhole
)

// Describes reports whether the list has the i-th skill's description, whole or cut.
func (a Arrangement) Describes(i int) bool {
	if a.details != nil {
		return a.details[i] >= isCut
	}
	return a.Described
}

// IsSecond reports whether the i-th skill is not in the first place of the list but in the second.
func (a Arrangement) IsSecond(i int) bool { return a.second != nil && a.second[i] }

// Cuts reports whether the list cuts the description of the i-th skill.
func (a Arrangement) Cuts(i int, description string) bool {
	if a.details != nil {
		return a.details[i] == isCut
	}
	return a.Described && a.Cut > 0 && utf8.RuneCountInString(display.OneLine(description)) > a.Cut
}

// Omits reports whether the list omits the i-th skill's name.
func (a Arrangement) Omits(i int) bool {
	if a.details != nil {
		return a.details[i] == isAbsent
	}
	if a.Described {
		return false
	}
	_, omitted := slices.BinarySearch(a.omitted, i)
	return omitted || i >= a.rest
}

// OmitsAny reports whether the list omits any name.
func (a Arrangement) OmitsAny() bool {
	if a.details != nil {
		return slices.Contains(a.details, isAbsent)
	}
	return !a.Described && (len(a.omitted) > 0 || a.rest < a.complete)
}

// Render returns the list of a view's skills; see [Skills.Arrange]. If the view is incomplete, the
// last line tells so.
func Render(v catalog.View, entries []*catalog.Entry, st Style, budget int, search string) string {
	note := IncompleteNote(v, search)
	switch {
	case note == "":
	case budget < MinBudget: // without room for skills, the note alone may be longer than the budget
		return "(incomplete; " + lists(search) + " the skills)"
	case len(entries) == 0:
		return note
	default:
		budget -= display.Length(note) + 1
		note = "\n" + note
	}
	text, _ := Of(entries).Arrange(st, budget, search)
	return text + note
}

// IncompleteNote returns the last line of a list that may lack skills, or "". search is the tool
// that shows the missing skills later, or "" if the set has none.
func IncompleteNote(v catalog.View, search string) string {
	lacks := v.Incomplete()
	if missing := v.Unreachable(); lacks == nil && missing != "" {
		return "(" + missing + ")"
	}
	switch {
	case lacks == nil:
		return ""
	case search == "":
		return "(" + lacks.State() + "; each loads by its name once it is read)"
	}
	return "(" + lacks.State() + "; " + search + " shows those that were read since)"
}

// Arrange returns the list of the skills within a budget of characters. It prefers whole
// descriptions, then descriptions cut at a sentence or word, then names only; see [Skills.Names].
// One line tells how the list was shortened. search is the tool that shows the rest, or "" if the
// set has none.
func (s *Skills) Arrange(st Style, budget int, search string) (string, Arrangement) {
	if len(s.entries) == 0 {
		return none, Arrangement{Described: true}
	}
	if bare := s.bareLength(st, budget); bare <= budget {
		if text, a, ok := s.describe(st, budget, bare, search); ok {
			return text, a
		}
	}
	return s.names(st.escape, budget, "", search)
}

// Length returns the length of the list with whole descriptions, without writing it.
func (s *Skills) Length(st Style) int {
	n := s.bareLength(st, math.MaxInt)
	for _, r := range s.described() {
		n += display.Length(st.escape(r.description))
	}
	return n
}

// bareLength returns the length of the list without descriptions. If the list is longer than most,
// it may return any number above most.
func (s *Skills) bareLength(st Style, most int) int {
	count := len(s.entries)
	if count == 0 {
		return display.Length(none)
	}
	n := count - 1 // line ends between the skills
	frames := map[string]int{}
	for i := 0; i < count && n <= most; i++ {
		location := Location(s.entries[i])
		frame, ok := frames[location]
		if !ok {
			frame = display.Length(st.item("", "", location))
			frames[location] = frame
		}
		n += frame + display.Length(st.escape(s.row(i).name))
	}
	return n
}

// describe returns the list with descriptions, whole or cut, if it fits. bare is the length of the
// list without descriptions.
func (s *Skills) describe(st Style, budget, bare int, search string) (string, Arrangement, bool) {
	rows := s.described()
	longest, used := 0, bare
	whole := make([]int, len(rows)) // the length of each description
	for i, r := range rows {
		if len(r.description) > longest { // a text has no more characters than bytes
			longest = max(longest, utf8.RuneCountInString(r.description))
		}
		whole[i] = display.Length(st.escape(r.description))
		used += whole[i]
	}
	if used <= budget {
		return s.write(st, longest, used), Arrangement{Described: true}, true
	}
	note := shortened("descriptions are shortened", search)
	rest := budget - display.Length(note) - 1
	fits := func(n int) bool {
		used := bare
		for i, r := range rows {
			switch text, elided := display.Shorten(r.description, n); {
			case elided:
				used += display.Length(st.escape(text)) + display.Length(display.Ellipsis)
			case len(text) < len(r.description):
				used += display.Length(st.escape(text))
			default:
				used += whole[i]
			}
			if used > rest {
				return false
			}
		}
		return true
	}
	// Find the longest cut that fits by bisection. If there are very many skills, not even the
	// shortest cut fits, so check that first.
	if !fits(minDescription) {
		return "", Arrangement{}, false
	}
	n := sort.Search(longest-minDescription, func(i int) bool { return !fits(minDescription + i) })
	if n == 0 {
		return "", Arrangement{}, false
	}
	n += minDescription - 1
	return s.write(st, n, rest) + "\n" + note, Arrangement{Described: true, Cut: n}, true
}

// write returns all rows, with descriptions of at most n characters. length is the length of the
// result in characters.
func (s *Skills) write(st Style, n, length int) string {
	var b strings.Builder
	b.Grow(length)
	for i, r := range s.rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(st.item(st.escape(r.name), st.escape(display.Cut(r.description, n)), Location(s.entries[i])))
	}
	return b.String()
}

// shortened returns the line that tells how a list was shortened.
func shortened(what, search string) string {
	if search == "" {
		return "(" + what + " to fit; load a skill to see it whole)"
	}
	return "(" + what + " to fit; " + search + " shows them whole)"
}

// Names returns the list of names. If all names fit, note follows if it fits too. An empty note
// stands for the line about omitted descriptions. If not all names fit, the list contains as many
// as fit, in order, and a line with the number of omitted names. It then omits names that are too
// long for an answer to repeat, because they would displace others. Below [MinBudget] the lines are
// shorter, and one of them is always present.
func (s *Skills) Names(budget int, note, search string) (string, Arrangement) {
	return s.names(plain, budget, note, search)
}

func (s *Skills) names(escape func(string) string, budget int, note, search string) (string, Arrangement) {
	count := len(s.entries)
	a := Arrangement{rest: count, complete: count}
	if note == "" {
		note = shortened("descriptions are left out", search)
	}
	n := 2 * max(count-1, 0) // commas between the names
	for i := 0; i < count && n <= budget; i++ {
		n += display.Length(escape(s.row(i).name))
	}
	if n <= budget {
		all := make([]string, count)
		for i := range all {
			all[i] = escape(s.row(i).name)
		}
		text := strings.Join(all, ", ")
		for _, line := range []string{note, "(descriptions left out)"} {
			if n+1+display.Length(line) <= budget {
				return text + "\n" + line, a
			}
		}
		if budget >= MinBudget { // a missing note is better than missing names
			return text, a
		}
	}
	notShown := notShown
	if display.Length(notShown(count, search)) > budget {
		notShown = notShownBriefly
	}
	left := budget - display.Length(notShown(count, search)) - 1
	var b strings.Builder
	b.Grow(max(left, 0))
	a.rest = 0
	for ; a.rest < count && left >= 0; a.rest++ {
		name := escape(s.row(a.rest).name)
		if len(name) > display.EchoLimit {
			a.omitted = append(a.omitted, a.rest)
			continue
		}
		sep := ""
		if b.Len() > 0 {
			sep = ", "
		}
		if left -= len(sep) + display.Length(name); left < 0 {
			a.omitted = append(a.omitted, a.rest)
			continue
		}
		b.WriteString(sep)
		b.WriteString(name)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String() + notShown(len(a.omitted)+count-a.rest, search), a
}

// notShown returns the line with the number of omitted names.
func notShown(n int, search string) string {
	skills, them := "skills", "them"
	if n == 1 {
		skills, them = "skill", "it"
	}
	if search == "" {
		return fmt.Sprintf("(and %d more %s, not shown to fit; each loads by its name)", n, skills)
	}
	return fmt.Sprintf("(and %d more %s, not shown to fit; use %s to see %s)", n, skills, search, them)
}

// notShownBriefly is notShown for a list with little room.
func notShownBriefly(n int, search string) string {
	return fmt.Sprintf("(%d more; %s them)", n, lists(search))
}

// lists returns the subject and the verb of a sentence about listing all skills. The subject is a
// tool, or the answer to an unknown name.
func lists(search string) string {
	if search == "" {
		return "an unknown name lists"
	}
	return search + " lists"
}

// quoteLength bounds the quoted text of a problem, in characters. The longest of knack's own texts
// has 120; a parser may quote more.
const quoteLength = 240

// Quote returns a problem's message in one line of bounded length.
func Quote(text string) string { return display.Cut(display.OneLine(text), quoteLength) }

// Fix returns a problem's fix in one line. It is whole, since it may advise a command.
func Fix(text string) string { return display.OneLine(text) }
