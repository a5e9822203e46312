package tool

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/display"
	"github.com/knack-dev/knack/skill"
)

// Budget is the largest list of skills, in characters (contracts.md).
const Budget = 16_000

// leastDescription is the shortest useful description. Below it a list shows names alone.
const leastDescription = 24

// style is the form of one skill in a list.
type style struct {
	item  func(name, description, location string) string
	empty string
}

// bullets is the form in answers: "- name: description".
var bullets = style{
	item:  func(name, description, _ string) string { return "- " + name + ": " + description },
	empty: "(none)",
}

// items is bullets for a text that is read as Markdown. There, a name cannot make a
// heading, a quotation or a list of its item.
var items = style{
	item: func(name, description, _ string) string {
		if name != "" && strings.IndexByte("#>-*+~=", name[0]) >= 0 {
			name = `\` + name
		}
		return "- " + name + ": " + description
	},
	empty: "(none)",
}

// elements is the form in contract 002's description.
var elements = style{
	item: func(name, description, location string) string {
		return "<skill>\n<name>" + name + "</name>\n<description>" + description + "</description>\n<location>" + location + "</location>\n</skill>"
	},
	empty: "(none)",
}

// length counts characters like the clients that cut, in UTF-16 units, which are never
// fewer than code points.
func length(s string) int {
	if n := utf8.RuneCountInString(s); n == len(s) { // in ASCII, as nearly all are
		return n
	}
	n := 0
	for _, r := range s {
		n++
		if r > 0xffff {
			n++
		}
	}
	return n
}

// list renders skills within a budget of characters. They are whole if they fit, else with
// each description cut at a sentence or word, else as names alone. If not all names fit, it
// shows as many as do, with their number and the way to the rest. One line says what was
// shortened. more is the tool that finds the rest, if the set has one.
func list(entries []*catalog.Entry, st style, escape func(string) string, budget int, more string) string {
	text, _ := arrange(&rows{entries: entries}, st, escape, budget, more)
	return text
}

// listOf is list for skills of a view. While that is incomplete, the last line says so.
func listOf(v catalog.View, entries []*catalog.Entry, st style, escape func(string) string, budget int, more string) string {
	note := incompleteNote(v, more)
	switch {
	case note == "":
		return list(entries, st, escape, budget, more)
	case len(entries) == 0:
		return note
	}
	return list(entries, st, escape, budget-length(note)-1, more) + "\n" + note
}

// MetaIncomplete is the key under _meta of an answer that lacks what is not read yet. Its
// value says so in words.
const MetaIncomplete = "knack.dev/incomplete"

// incompleteMeta marks an answer of a view that is incomplete.
func incompleteMeta(v catalog.View) map[string]any {
	if lacks := v.Incomplete(); lacks != nil {
		return map[string]any{MetaIncomplete: lacks.Error()}
	}
	return nil
}

// incompleteNote is the line of a list that lacks skills, or empty.
func incompleteNote(v catalog.View, more string) string {
	lacks := v.Incomplete()
	switch {
	case lacks == nil:
		return ""
	case more == "":
		return "(" + lacks.State() + "; each loads by its name once it is read)"
	}
	return "(" + lacks.State() + "; " + more + " shows those that were read since)"
}

// arranged describes the skills in a list after fitting.
type arranged struct {
	form Form
	cut  int // the longest description that is whole, for [FormShortened]
	left left
}

// left describes the skills whose names are left out of a list, for [FormNames].
type left struct {
	some []int // of those before from
	from int   // all from here on
}

// any reports whether the names of some of count skills are left out.
func (l left) any(count int) bool { return len(l.some) > 0 || l.from < count }

// has reports whether the name at a position is left out. Of 10,000 nearly all may be.
func (l left) has(i int) bool {
	if i >= l.from {
		return true
	}
	_, ok := slices.BinarySearch(l.some, i)
	return ok
}

// rows makes the rows of a list on demand: of very many skills only the first rows are
// needed.
type rows struct {
	entries []*catalog.Entry
	made    []row
}

func (r *rows) at(i int) row {
	for len(r.made) <= i {
		e := r.entries[len(r.made)]
		r.made = append(r.made, row{name: display.OneLine(e.Name), location: location(e)})
	}
	return r.made[i]
}

// described returns all rows with their descriptions. A long list has no room for
// descriptions and is arranged without them.
func (r *rows) described() []row {
	if n := len(r.entries); n > 0 {
		r.made = slices.Grow(r.made, n-len(r.made))
		r.at(n - 1)
	}
	for i, e := range r.entries {
		if r.made[i].description == "" {
			r.made[i].description = display.OneLine(e.Description)
		}
	}
	return r.made
}

func arrange(rows *rows, st style, escape func(string) string, budget int, more string) (string, arranged) {
	if len(rows.entries) == 0 {
		return st.empty, arranged{form: FormWhole}
	}
	if bare := bareLength(rows, st, escape, budget); bare <= budget {
		if s, a, ok := described(rows.described(), st, escape, budget, bare, more); ok {
			return s, a
		}
	}
	text, left := names(rows, escape, budget, shortened(more, "descriptions are left out"), more)
	return text, arranged{form: FormNames, left: left}
}

// described renders rows with their descriptions, whole or cut, if they fit; bare is their
// length without.
func described(rows []row, st style, escape func(string) string, budget, bare int, more string) (string, arranged, bool) {
	longest, used := 0, bare
	whole := make([]int, len(rows)) // the length of each description
	for i, r := range rows {
		if len(r.description) > longest { // it has no more characters than bytes
			longest = max(longest, utf8.RuneCountInString(r.description))
		}
		whole[i] = length(escape(r.description))
		used += whole[i]
	}
	if used <= budget {
		return render(rows, st, escape, longest), arranged{form: FormWhole}, true
	}
	note := shortened(more, "descriptions are shortened")
	rest := budget - length(note) - 1
	fits := func(n int) bool {
		used := bare
		for i, r := range rows {
			switch kept, off := cut(r.description, n); {
			case off:
				used += length(escape(kept)) + length(ellipsis)
			case len(kept) < len(r.description):
				used += length(escape(kept))
			default:
				used += whole[i]
			}
			if used > rest {
				return false
			}
		}
		return true
	}
	// Find the longest cut that fits by bisection. For very many skills not even the
	// shortest fits, which is checked first.
	if !fits(leastDescription) {
		return "", arranged{}, false
	}
	n := sort.Search(longest-leastDescription, func(i int) bool { return !fits(leastDescription + i) })
	if n == 0 {
		return "", arranged{}, false
	}
	n += leastDescription - 1
	return render(rows, st, escape, n) + "\n" + note, arranged{form: FormShortened, cut: n}, true
}

type row struct{ name, description, location string }

func location(e *catalog.Entry) string {
	if e.Root.Scope == skill.ScopeProject {
		return "project"
	}
	return "global"
}

func shortened(more, what string) string {
	if more == "" {
		return "(" + what + " to fit; load a skill to see it whole)"
	}
	return "(" + what + " to fit; " + more + " shows them whole)"
}

// upTo returns at most the first n characters of s.
func upTo(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// render writes all rows with descriptions of at most n characters.
func render(rows []row, st style, escape func(string) string, n int) string {
	var b strings.Builder
	for i, r := range rows {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(st.item(escape(r.name), escape(Cut(r.description, n)), r.location))
	}
	return b.String()
}

// names renders names alone: all of them if possible, with a note below if that fits, else
// as many as fit, in order. It then leaves out a name that is longer than any answer would
// repeat, so that it cannot displace the others.
func names(rows *rows, escape func(string) string, budget int, note, more string) (text string, out left) {
	count := len(rows.entries)
	n := 2 * max(count-1, 0) // the commas between them
	for i := 0; i < count && n <= budget; i++ {
		n += length(escape(rows.at(i).name))
	}
	if n <= budget {
		all := make([]string, count)
		for i := range all {
			all[i] = escape(rows.at(i).name)
		}
		whole := strings.Join(all, ", ")
		if n+1+length(note) <= budget {
			whole += "\n" + note
		}
		return whole, left{from: count}
	}
	rest := budget - length(leftOut(count, more)) - 1
	var b strings.Builder
	i := 0
	for ; i < count && rest >= 0; i++ {
		name := escape(rows.at(i).name)
		if len(name) > display.EchoLimit {
			out.some = append(out.some, i)
			continue
		}
		sep := ""
		if b.Len() > 0 {
			sep = ", "
		}
		if rest -= len(sep) + length(name); rest < 0 {
			out.some = append(out.some, i)
			continue
		}
		b.WriteString(sep + name)
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	out.from = i
	return b.String() + leftOut(len(out.some)+count-i, more), out
}

func leftOut(n int, more string) string {
	skills, them := "skills", "them"
	if n == 1 {
		skills, them = "skill", "it"
	}
	if more == "" {
		return fmt.Sprintf("(and %d more %s, not shown to fit; each loads by its name)", n, skills)
	}
	return fmt.Sprintf("(and %d more %s, not shown to fit; use %s to see %s)", n, skills, more, them)
}

// Cut shortens a text to at most n characters: after a sentence that ends in the second
// half, else between words, with an ellipsis. If neither is possible, it cuts inside a
// word, so that at least half of the length is used.
func Cut(s string, n int) string {
	kept, off := cut(s, n)
	if off {
		return kept + ellipsis
	}
	return kept
}

// ellipsis marks a text that was cut.
const ellipsis = "…"

// cut is Cut without the ellipsis; off reports whether to add it.
func cut(s string, n int) (kept string, off bool) {
	if n <= 0 {
		return "", false
	}
	if len(s) <= n { // it has no more characters than bytes
		return s, false
	}
	head := upTo(s, n)
	if len(head) == len(s) {
		return s, false
	}
	// Backwards: at is the end of the i-th character, and next is the character after it.
	next, _ := utf8.DecodeRuneInString(s[len(head):])
	for i, at := n-1, len(head); i > n/2; i-- {
		r, size := utf8.DecodeLastRuneInString(s[:at])
		if isStop(r) && (unicode.IsSpace(next) || r > 0x3000) {
			return s[:at], false
		}
		next, at = r, at-size
	}
	r, size := utf8.DecodeLastRuneInString(head)
	end := len(head) - size
	last := r
	for i, at := n-1, end; i > n/2; i-- { // at is where the i-th, r, begins
		before, size := utf8.DecodeLastRuneInString(s[:at])
		if unicode.IsSpace(r) || isWord(before) && isWord(r) {
			end, last = at, r
			break
		}
		r, at = before, at-size
	}
	for end > 0 && last >= utf8.RuneSelf && unicode.In(last, unicode.M, unicode.Cf) {
		r, size := utf8.DecodeLastRuneInString(s[:end]) // a mark belongs to the character before it
		end, last = end-size, r
	}
	return strings.TrimRight(s[:end], " ,;:-"), true
}

// isWord reports whether a character is a visual word by itself, as in scripts without
// blanks between words.
func isWord(r rune) bool {
	return r >= utf8.RuneSelf && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer)
}

func isStop(r rune) bool {
	switch r {
	case '.', '!', '?', '。', '！', '？':
		return true
	}
	return false
}

// plain leaves a text as it is.
func plain(s string) string { return s }

var xmlEscaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// escapeXML escapes element content.
func escapeXML(s string) string { return xmlEscaper.Replace(s) }

// leastBudget is the smallest budget of a list for any client: some names, and the way to
// the rest.
const leastBudget = 200

// budgetFor returns the list's share of a description with head characters before and after
// it.
func budgetFor(c Client, head int) int {
	shown := c.habits().description
	if shown <= 0 {
		return Budget
	}
	return max(min(Budget, shown-head), leastBudget)
}
