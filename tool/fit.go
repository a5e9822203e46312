package tool

import (
	"math"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
)

// Form is the way in which a list of skills was made to fit.
type Form string

// The forms, from best to worst. In each but the first one line of the list says
// what was shortened.
const (
	FormWhole     Form = "whole"     // names with their whole descriptions
	FormShortened Form = "shortened" // long descriptions are cut
	FormNames     Form = "names"     // names alone, some perhaps left out
)

// Fit is the part of the list of skills that a client is shown.
type Fit struct {
	// Client is a name from the table of clients that cut, "" for all the others. Older
	// versions that cut earlier follow as "name before version".
	Client string
	// Limit is the number of characters of a description that the client shows; 0 if no
	// limit is known.
	Limit int
	// Budget is the number of characters for the list, Need the length of the whole list.
	Budget, Need int
	Form         Form
	// Cut is the length in characters above which a description is cut, if the form is
	// [FormShortened].
	Cut int
	// Shortened lists the skills whose description is cut or left out, Left those whose
	// name is not in the list. Both are in the order of the list.
	Shortened, Left []*catalog.Entry
}

// Fits returns how the list in the description of the default set's tool skill fits all
// clients without a known limit, which come first, and those that cut.
func Fits(v catalog.View) []Fit {
	around := length(defaultHead) + length(skillTail)
	rows := &rows{entries: v.Listed}
	whole := rows.described()
	need := wholeLength(rows, elements, escapeXML)
	var out []Fit
	for _, f := range cuts(around) {
		f.Need = need
		_, a := arrange(rows, elements, escapeXML, f.Budget, findName)
		f.Form, f.Cut = a.form, a.cut
		for i, e := range v.Listed {
			switch {
			case a.form == FormNames && a.left.has(i):
				f.Left = append(f.Left, e)
			case a.form == FormNames, a.form == FormShortened && utf8.RuneCountInString(whole[i].description) > a.cut:
				f.Shortened = append(f.Shortened, e)
			}
		}
		out = append(out, f)
	}
	return out
}

// cuts returns the ways in which known clients cut a description with head characters
// around the list; that of all the others comes first.
func cuts(head int) []Fit {
	out := []Fit{{Budget: budgetFor(Client{}, head)}}
	newer := habits{} // the row before
	for _, h := range knownClients {
		if h.description == 0 || h.name == newer.name && h.description == newer.description {
			continue
		}
		f := Fit{Client: h.name, Limit: h.description, Budget: budgetFor(Client{Name: h.name, Version: h.since}, head)}
		if h.name == newer.name {
			f.Client += " before " + newer.since
		}
		out, newer = append(out, f), h
	}
	return out
}

// wholeLength returns the length of a list of whole descriptions, without rendering it.
func wholeLength(rows *rows, st style, escape func(string) string) int {
	n := bareLength(rows, st, escape, math.MaxInt)
	for _, r := range rows.described() {
		n += length(escape(r.description))
	}
	return n
}

// bareLength returns the length of a list without descriptions, or any number above most if
// it is longer than that.
func bareLength(rows *rows, st style, escape func(string) string, most int) int {
	count := len(rows.entries)
	if count == 0 {
		return length(st.empty)
	}
	n := count - 1 // the line ends between them
	around := map[string]int{}
	for i := 0; i < count && n <= most; i++ {
		r := rows.at(i)
		frame, ok := around[r.location]
		if !ok {
			frame = length(st.item("", "", r.location))
			around[r.location] = frame
		}
		n += frame + length(escape(r.name))
	}
	return n
}
