package tool

import (
	"slices"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
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
// clients without a known limit, which come first, and those that cut. Callers share the
// result, and must not change it.
func Fits(v catalog.View) []Fit {
	return catalog.Keep(v.Snapshot, fitsKey{}, func() []Fit { return fits(v) })
}

type fitsKey struct{}

func fits(v catalog.View) []Fit {
	skills := listing.Of(v.Listed)
	need := skills.Length(listing.Elements)
	var out []Fit
	for _, f := range cuts(display.Length(defaultHead) + display.Length(skillTail)) {
		_, a := skills.Arrange(listing.Elements, f.Budget, findName)
		f.Need, f.Form, f.Cut = need, formOf(a), a.Cut
		for i, e := range v.Listed {
			switch presence(a, i, e) {
			case PresenceAbsent:
				f.Left = append(f.Left, e)
			case PresenceName, PresenceShortened:
				f.Shortened = append(f.Shortened, e)
			}
		}
		out = append(out, f)
	}
	return out
}

func formOf(a listing.Arrangement) Form {
	switch {
	case !a.Described:
		return FormNames
	case a.Cut > 0:
		return FormShortened
	}
	return FormWhole
}

// Presence is how much of a skill a list in the description of a tool shows.
type Presence string

// The presences, from best to worst.
const (
	PresenceWhole     Presence = "whole"     // its name and its whole description
	PresenceShortened Presence = "shortened" // its name, and the beginning of its description
	PresenceName      Presence = "name"      // its name alone
	PresenceAbsent    Presence = "absent"    // nothing: the list leaves it out, or is not for it
	PresenceUnlisted  Presence = ""          // no description has a list; a tool lists the skills when it is called
)

// PresenceOf returns how much of a skill the descriptions of tools show a client, at best.
func PresenceOf(e *catalog.Entry, v catalog.View, tools []*Tool, c profile.Client) Presence {
	best := PresenceUnlisted
	for _, t := range tools {
		if t.arranged == nil {
			continue
		}
		now, i := PresenceAbsent, slices.IndexFunc(Offered(v, []*Tool{t}), e.SameURI)
		if i >= 0 {
			now = presence(t.arranged(v, c), i, e)
		}
		order := []Presence{PresenceWhole, PresenceShortened, PresenceName, PresenceAbsent, PresenceUnlisted}
		if slices.Index(order, now) < slices.Index(order, best) {
			best = now
		}
	}
	return best
}

// presence returns how much a list shows of its i-th skill.
func presence(a listing.Arrangement, i int, e *catalog.Entry) Presence {
	switch {
	case a.Omits(i):
		return PresenceAbsent
	case !a.Described:
		return PresenceName
	case a.Cut > 0 && utf8.RuneCountInString(display.OneLine(e.Description)) > a.Cut:
		return PresenceShortened
	}
	return PresenceWhole
}

// cuts returns the ways in which known clients cut a description with other characters
// around the list; that of all the others comes first.
func cuts(other int) []Fit {
	out := []Fit{{Budget: listing.BudgetFor(profile.Client{}, other)}}
	newer, last := profile.Client{}, 0 // the row before, and what it shows
	for _, c := range profile.Known() {
		shown := c.Profile().Description
		if shown == 0 || c.Name == newer.Name && shown == last {
			continue
		}
		f := Fit{Client: c.Name, Limit: shown, Budget: listing.BudgetFor(c, other)}
		if c.Name == newer.Name {
			f.Client += " before " + newer.Version
		}
		out, newer, last = append(out, f), c, shown
	}
	return out
}
