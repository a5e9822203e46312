package tool

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
)

// Form is how a list of skills was made to fit.
type Form string

// The forms, from best to worst. In each but the first one line of the list says
// what was shortened.
const (
	FormWhole     Form = "whole"     // names with their whole descriptions
	FormShortened Form = "shortened" // long descriptions are cut
	FormNames     Form = "names"     // names alone, some perhaps left out
)

// Fit is what one client is shown of the list of skills.
type Fit struct {
	// Client is a name from the table of clients that cut, "" for all the others.
	Client string
	// Limit is how many characters of a description the client shows; 0 where no
	// limit is known.
	Limit int
	// Budget is how many characters the list may take, Need how many it would take
	// whole.
	Budget, Need int
	Form         Form
	// Cut is the length in characters over which a description is cut, where the
	// form is [FormShortened].
	Cut int
	// Shortened are the skills whose description is cut or left out, Left those
	// whose name is not in the list at all. Both are in the order of the list.
	Shortened, Left []*catalog.Entry
}

// Fits says how the list in the description of the default set's tool skill fits
// the clients that are known to cut, and all the others, which come first.
func Fits(v catalog.View) []Fit {
	around := length(defaultHead) + length(skillTail)
	rows := rowsOf(v.Listed)
	describe(rows)
	need := wholeLength(rows, elements, escapeXML)
	var out []Fit
	for _, name := range append([]string{""}, slices.Sorted(maps.Keys(clientCut))...) {
		f := Fit{Client: name, Limit: clientCut[name], Budget: budgetFor(Client{Name: name}, around), Need: need}
		_, a := arrange(rows, elements, escapeXML, f.Budget, findName)
		f.Form, f.Cut = a.form, a.cut
		for i, e := range v.Listed {
			switch {
			case inOrder(a.left, i):
				f.Left = append(f.Left, e)
			case a.form == FormNames, a.form == FormShortened && utf8.RuneCountInString(rows[i].description) > a.cut:
				f.Shortened = append(f.Shortened, e)
			}
		}
		out = append(out, f)
	}
	return out
}

// wholeLength is how long a list of whole descriptions is, without writing it.
func wholeLength(rows []row, st style, escape func(string) string) int {
	n := bareLength(rows, st, escape)
	for _, r := range rows {
		n += length(escape(r.description))
	}
	return n
}

// bareLength is how long a list would be if no skill had a description.
func bareLength(rows []row, st style, escape func(string) string) int {
	if len(rows) == 0 {
		return length(st.empty)
	}
	n := len(rows) - 1 // the line ends between them
	around := map[string]int{}
	for _, r := range rows {
		frame, ok := around[r.location]
		if !ok {
			frame = length(st.item("", "", r.location))
			around[r.location] = frame
		}
		n += frame + length(escape(r.name))
	}
	return n
}

// inOrder reports whether a list of indexes that rise has this one. Of 10,000
// skills nearly all may be left out.
func inOrder(rising []int, i int) bool {
	_, ok := slices.BinarySearch(rising, i)
	return ok
}
