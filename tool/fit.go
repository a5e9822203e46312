package tool

import (
	"slices"

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
	FormMixed     Form = "mixed"     // some have descriptions, mostly cut, others names alone
	FormNames     Form = "names"     // names alone, some perhaps left out
)

// Fit is the part of the list of skills that a client is shown.
type Fit struct {
	client profile.Client
	// Client is a name from the table of clients that cut, "" for all the others. Older
	// versions that cut earlier follow as "name before version".
	Client string
	// Limit is the number of characters of a description that the client shows; 0 if no
	// limit is known.
	Limit int
	// Budget is the number of characters for the list, in the description and, if it goes on
	// there, in the instructions. Need is the length of the whole list.
	Budget, Need int
	Form         Form
	// Cut is the length in characters to which descriptions are cut, about, if the form is
	// [FormShortened].
	Cut int
	// Shortened lists the skills whose description is cut or left out, ByName those of them
	// that have none, and Left those whose name is not in the list. All are in the order of
	// the list.
	Shortened, ByName, Left []*catalog.Entry
}

// Fits returns how the list of the default set, in the description of its tool skill and for
// some clients in the instructions too, fits all clients without a known limit, which come first, and those that cut. Callers share the
// result, and must not change it.
func Fits(v catalog.View) []Fit {
	return catalog.Keep(v.Snapshot, fitsKey{}, func() []Fit { return fits(v) })
}

type fitsKey struct{}

func fits(v catalog.View) []Fit {
	need := listing.Of(v.Listed).Length(listing.EscapedBullets)
	other := display.Length(defaultHead) + display.Length(skillTail)
	var out []Fit
	for _, f := range cuts(other) {
		l := layOut(v, f.client, other)
		a := l.Arrangement
		f.Need, f.Cut, f.Budget = need, a.Cut, l.budget
		for i, e := range v.Listed {
			switch presence(a, i, e) {
			case PresenceAbsent:
				f.Left = append(f.Left, e)
			case PresenceName:
				f.ByName = append(f.ByName, e)
				f.Shortened = append(f.Shortened, e)
			case PresenceShortened:
				f.Shortened = append(f.Shortened, e)
			}
		}
		f.Form = f.form(len(v.Listed))
		out = append(out, f)
	}
	return out
}

// form returns the form of a list of so many skills.
func (f *Fit) form(skills int) Form {
	switch {
	case len(f.Shortened)+len(f.Left) == 0:
		return FormWhole
	case len(f.ByName)+len(f.Left) == 0:
		return FormShortened
	case len(f.ByName)+len(f.Left) < skills:
		return FormMixed
	}
	return FormNames
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
	case !a.Describes(i):
		return PresenceName
	case a.Cuts(i, e.Description):
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
		f := Fit{client: c, Client: c.Name, Limit: shown, Budget: listing.BudgetFor(c, other)}
		if c.Name == newer.Name {
			f.Client += " before " + newer.Version
		}
		out, newer, last = append(out, f), c, shown
	}
	return out
}
