package listing

import (
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
	// leastRow is the shortest length, in characters, to which a row cuts a description.
	leastRow = 30
	// leastCut is the smallest length to which a description is cut. A cut at the end of a word
	// then still leaves leastRow characters.
	leastCut = leastRow + 10
	// topicShare bounds the topics of names that are left out: they take at most this fraction,
	// 1/topicShare, of a place's budget.
	topicShare = 8
	// misfits is the number of consecutive names without room after which no more names are tried.
	misfits = 50

	othersByName = "Others by name: "
	topicsOf     = "Topics of the others: "
)

// Place is a text of the server that can contain a part of the list.
type Place struct {
	Budget int
	// Whole is the style of a skill if this place contains all skills with whole descriptions. Row
	// is the style in all other cases.
	Whole, Row Style
	// Search is the client's name for the tool that shows the rest, or empty.
	Search string
}

// Lay distributes a list of skills over places and returns the text of each place. Lengths are in
// units of the client. order contains the indexes of the skills, the most relevant skills first.
// Relevant skills are the first to get a description, and are in the first place. Within a text,
// skills are in the order of the list.
//
// The list has the first of these forms that fits:
//
//   - whole descriptions
//   - descriptions, of which the longest are cut to a common length of at least 30 characters
//   - such descriptions for the most relevant skills, and names for the rest
//   - names
//   - the most relevant names, and the topics of the rest
//
// One line of the first place tells how the list was shortened.
func Lay(entries []*catalog.Entry, order []int, unit profile.Unit, places ...Place) ([]string, Arrangement) {
	l := newLayout(entries, unit, places)
	texts := make([]string, len(places))
	if len(entries) == 0 {
		texts[0] = none
		return texts, Arrangement{Described: true}
	}
	if places[0].Budget < MinBudget { // none of the lines that Lay writes fits
		text, a := Of(entries).names(places[0].Row.escape, places[0].Budget, "", places[0].Search)
		texts[0] = text
		return texts, a
	}
	if text, ok := l.whole(places[0]); ok {
		texts[0] = text
		return texts, Arrangement{Described: true}
	}
	namesFit := l.name(order)
	a := Arrangement{complete: len(entries), details: make([]detail, len(entries)), second: make([]bool, len(entries))}
	switch {
	case namesFit && l.describe(&a):
	case namesFit:
		l.note = "descriptions are left out"
		l.place(0, 0)
	}
	left := len(order) - l.placed()
	if left > 0 {
		l.fewer(order)
		left = len(order) - l.placed()
	}
	for _, it := range l.items {
		a.details[it.index], a.second[it.index] = it.detail(), it.place > 0
	}
	for p := range places {
		texts[p] = l.write(p, left)
	}
	return texts, a
}

// Names reports whether [Lay] names all skills in this place. It lays out no more than it needs for
// the answer.
func Names(entries []*catalog.Entry, order []int, unit profile.Unit, p Place) bool {
	if p.Budget < MinBudget {
		_, a := Of(entries).names(p.Row.escape, p.Budget, "", p.Search)
		return !a.OmitsAny()
	}
	l := newLayout(entries, unit, []Place{p})
	_, ok := l.whole(p)
	return ok || l.name(order)
}

// item is a skill as the list shows it.
type item struct {
	index             int // in the list
	name              string
	description, gist string // the gist is shown if the description is cut
	place             int    // -1 for none
	isRow             bool
	text              string // the part of the description that a row shows
	cut               int    // the greatest length of text
}

// detail returns how much of the skill the list shows.
func (it *item) detail() detail {
	switch {
	case it.place < 0:
		return isAbsent
	case !it.isRow:
		return isNamed
	case it.text != it.description:
		return isCut
	}
	return isWhole
}

// layout is a list that is being laid out.
type layout struct {
	entries []*catalog.Entry
	unit    profile.Unit
	places  []Place
	items   []item // the most relevant first
	used    []int  // units used, by place
	note    string // how the list was shortened
	topics  []string
}

func newLayout(entries []*catalog.Entry, unit profile.Unit, places []Place) *layout {
	return &layout{entries: entries, unit: unit, places: places, items: make([]item, 0, min(len(entries), Budget/16)), used: make([]int, len(places))}
}

// whole writes all skills with full descriptions for one place, if they fit.
func (l *layout) whole(p Place) (string, bool) {
	var b strings.Builder
	used := 0
	for i, e := range l.entries {
		if i > 0 {
			b.WriteByte('\n')
			used += l.unit.Length("\n")
		}
		row := p.Whole.item(p.Whole.escape(display.OneLine(e.Name)), p.Whole.escape(display.OneLine(e.Description)), Location(e))
		if used += l.unit.Length(row); used > p.Budget {
			return "", false
		}
		b.WriteString(row)
	}
	return b.String(), true
}

// name makes items until no further name can fit, and reports whether all names fit.
func (l *layout) name(order []int) bool {
	room := 0
	for _, p := range l.places {
		room += p.Budget
	}
	for _, i := range order {
		it := item{index: i, name: display.OneLine(l.entries[i].Name), place: -1}
		l.items = append(l.items, it)
		if room -= l.nameLength(0, &it); room < 0 {
			return false
		}
	}
	l.note = "descriptions are left out"
	return l.place(0, 0)
}

// describe lays out the list with descriptions for all skills or for the most relevant ones. It
// returns false if there is no room for descriptions.
func (l *layout) describe(a *Arrangement) bool {
	longest := 0
	for i := range l.items {
		it := &l.items[i]
		it.describe(display.OneLine(l.entries[it.index].Description))
		longest = max(longest, utf8.RuneCountInString(it.description))
	}
	all := len(l.items)
	if l.note = ""; l.place(all, longest) {
		a.Described = true
		return true
	}
	if l.note = "descriptions are shortened"; l.place(all, leastCut) {
		n := leastCut + sort.Search(longest-leastCut, func(i int) bool { return !l.place(all, leastCut+i+1) })
		l.place(all, n)
		l.grow()
		a.Described, a.Cut = true, n
		return true
	}
	l.note = "descriptions are shortened or left out"
	k := sort.Search(all, func(i int) bool { return !l.place(i+1, leastCut) })
	if k == 0 || !l.place(k, leastCut) {
		return false
	}
	l.promote()
	l.grow()
	return true
}

// place puts each item into the first place that has room, and reports whether all fit. The first
// items become rows with descriptions of at most n characters; rows is their number. The others are
// names.
func (l *layout) place(rows, n int) bool {
	for p := range l.places {
		l.used[p] = l.noteLength(p)
		if rows > 0 && rows < len(l.items) {
			l.used[p] += l.unit.Length("\n" + othersByName)
		}
	}
	ok := true
	for i := range l.items {
		it := &l.items[i]
		if it.isRow = i < rows; it.isRow {
			it.text, it.cut = it.brief(n), n
		}
		ok = l.put(it) && ok
		if !ok && rows > 0 {
			return false
		}
	}
	return ok
}

// put puts an item into the first place that has room.
func (l *layout) put(it *item) bool {
	for p := range l.places {
		if n := l.length(p, it); l.used[p]+n <= l.places[p].Budget {
			it.place = p
			l.used[p] += n
			return true
		}
	}
	it.place = -1
	return false
}

// promote gives descriptions to further skills for which there is room.
func (l *layout) promote() {
	for i := range l.items {
		it := &l.items[i]
		if it.isRow || it.place < 0 {
			continue
		}
		row := *it
		row.isRow, row.text, row.cut = true, it.brief(leastCut), leastCut
		l.replace(it, row)
	}
}

// grow distributes the remaining room evenly among the cut descriptions.
func (l *layout) grow() {
	for more := 1; more <= skill.MaxDescription; more += max(1, more/2) {
		if !slices.ContainsFunc(l.items, func(it item) bool { return it.detail() == isCut && l.room(it.place) > l.places[it.place].Budget/50 }) {
			return
		}
		for i := range l.items {
			it := &l.items[i]
			if it.detail() != isCut {
				continue
			}
			longer := *it
			longer.cut += more
			longer.text = it.brief(longer.cut)
			l.replace(it, longer)
		}
	}
}

// replace replaces an item by another form of the same skill, if its place has room.
func (l *layout) replace(it *item, by item) {
	if more := l.length(it.place, &by) - l.length(it.place, it); more <= l.room(it.place) {
		l.used[it.place] += more
		*it = by
	}
}

// room returns the free units of a place.
func (l *layout) room(p int) int { return l.places[p].Budget - l.used[p] }

// fewer lays out the most relevant names, and the topics of the other skills if not all names fit.
func (l *layout) fewer(order []int) {
	l.note = ""
	last := len(l.places) - 1
	lines := l.unit.Length(notShown(len(order), l.places[last].Search) + "\n" + "\n" + topicsOf)
	fill := func(reserved int) {
		clear(l.used)
		l.used[last] = lines + reserved
		missed := 0
		for i := range l.items {
			it := &l.items[i]
			it.isRow, it.place = false, -1
			if len(it.name) <= display.EchoLimit && missed < misfits {
				if l.put(it) {
					missed = 0
				} else {
					missed++
				}
			}
		}
	}
	most := l.places[last].Budget / topicShare
	fill(most)
	l.topics = l.topicsWithin(order, most)
	fill(l.unit.Length(strings.Join(l.topics, ", ")))
}

// topicsWithin returns topics of the skills that are not named, with a length of at most most
// units.
func (l *layout) topicsWithin(order []int, most int) []string {
	named := make([]bool, len(l.entries))
	for _, it := range l.items {
		named[it.index] = it.place >= 0
	}
	var others []*catalog.Entry
	for _, i := range order {
		if !named[i] {
			others = append(others, l.entries[i])
		}
	}
	topics, _ := summaryOf(others, most, "").topics()
	for i, t := range topics {
		if most -= l.unit.Length(t + ", "); most < 0 {
			return topics[:i]
		}
	}
	return topics
}

// placed returns the number of skills that the list names.
func (l *layout) placed() (n int) {
	for _, it := range l.items {
		if it.place >= 0 {
			n++
		}
	}
	return n
}

// describe gives the item its description.
func (it *item) describe(description string) {
	it.description, it.gist = description, skill.Gist(description)
}

// brief returns the description in at most n characters. It cuts at the end of a word if that
// leaves leastRow characters.
func (it *item) brief(n int) string {
	if utf8.RuneCountInString(it.description) <= n {
		return it.description
	}
	text := display.Fill(it.gist, n)
	if utf8.RuneCountInString(text) < leastRow && text != it.gist {
		text = display.Prefix(it.gist, n-1) + display.Ellipsis
	}
	return text
}

// length returns the units that an item takes in a place, with the line end or the comma
// before it.
func (l *layout) length(p int, it *item) int {
	if !it.isRow {
		return l.nameLength(p, it)
	}
	return l.unit.Length(l.row(p, it)) + l.unit.Length("\n")
}

func (l *layout) row(p int, it *item) string {
	st := l.places[p].Row
	return st.item(st.escape(it.name), st.escape(it.text), "")
}

func (l *layout) nameLength(p int, it *item) int {
	return l.unit.Length(l.places[p].Row.escape(it.name)) + len(", ")
}

// noteLength returns the length of the line that tells how the list was shortened.
func (l *layout) noteLength(p int) int {
	if p > 0 || l.note == "" {
		return 0
	}
	return l.unit.Length("\n" + shortened(l.note, l.places[p].Search))
}

// write writes the text of a place. left is the number of skills that no place names.
func (l *layout) write(p, left int) string {
	items := slices.DeleteFunc(slices.Clone(l.items), func(it item) bool { return it.place != p })
	slices.SortFunc(items, func(a, b item) int { return a.index - b.index })
	var lines, names []string
	for i := range items {
		if it := &items[i]; it.isRow {
			lines = append(lines, l.row(p, it))
		} else {
			names = append(names, l.places[p].Row.escape(it.name))
		}
	}
	if len(names) > 0 {
		line := strings.Join(names, ", ")
		if len(lines) > 0 {
			line = othersByName + line
		} else { // the first name needs no comma, and the escape takes its room
			line = l.places[p].Row.begin(line)
		}
		lines = append(lines, line)
	}
	if p == 0 && l.note != "" {
		lines = append(lines, shortened(l.note, l.places[p].Search))
	}
	if p == len(l.places)-1 && left > 0 {
		if len(l.topics) > 0 {
			lines = append(lines, topicsOf+l.places[p].Row.escape(strings.Join(l.topics, ", ")))
		}
		lines = append(lines, notShown(left, l.places[p].Search))
	}
	return strings.Join(lines, "\n")
}
