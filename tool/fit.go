package tool

import (
	"slices"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/tool/internal/listing"
	"github.com/knack-dev/knack/tool/profile"
)

// Form tells how a list of skills was shortened to fit.
type Form string

// The forms, from best to worst. In all but the first, one line of the list says how it was
// shortened.
const (
	FormWhole     Form = "whole"     // names with their whole descriptions
	FormShortened Form = "shortened" // long descriptions are cut
	FormMixed     Form = "mixed"     // some skills have descriptions, mostly cut; others have only names
	FormNames     Form = "names"     // only names, some perhaps left out
)

// Fit describes the part of the list of skills that a client shows.
type Fit struct {
	client profile.Client
	// Client is the name of a known client that cuts descriptions, or "" for all other clients. A
	// row for older versions with a different limit has the name "NAME before VERSION".
	Client string
	// Limit is the number of characters of a description that the client shows, or 0 if no limit is
	// known.
	Limit int
	// Budget is the number of characters for the list in the description. If the list continues in
	// the instructions, it includes their part. Need is the length of the whole list.
	Budget, Need int
	Form         Form
	// Cut is the approximate length in characters to which descriptions are cut, if the form is
	// [FormShortened].
	Cut int
	// Shortened lists the skills with a cut or omitted description. ByName lists those of them
	// without a description. Left lists the skills that are missing from the list. All are in list
	// order.
	Shortened, ByName, Left []*catalog.Entry
}

// Fits returns how the default set's list of skills fits each kind of client. The list is in the
// description of the tool skill and, for some clients, also in the instructions. The first Fit is
// for all clients without a known limit. One Fit follows for each client that cuts descriptions.
// Callers share the result and must not change it.
func Fits(v catalog.View) []Fit {
	return catalog.Keep(v.Snapshot, fitsKey{}, func() []Fit { return fits(v) })
}

type fitsKey struct{}

func fits(v catalog.View) []Fit {
	other := display.Length(defaultHead) + display.Length(skillTail)
	var out []Fit
	for _, f := range cuts(other) {
		l := layOut(v, f.client, other)
		a, skills := l.Arrangement, v.ListedFor(f.client.Agent())
		f.Need, f.Cut, f.Budget = listing.Of(skills).Length(listing.EscapedBullets), a.Cut, l.budget
		for i, e := range skills {
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
		f.Form = f.form(len(skills))
		out = append(out, f)
	}
	return out
}

// form returns the form of a list with the given number of skills.
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

// Presence is the part of a skill that the list in a tool's description shows.
type Presence string

// The presences, from best to worst.
const (
	PresenceWhole     Presence = "whole"     // name and whole description
	PresenceShortened Presence = "shortened" // name and the beginning of the description
	PresenceName      Presence = "name"      // name only
	PresenceAbsent    Presence = "absent"    // the list omits the skill or does not cover it
	PresenceUnlisted  Presence = ""          // no description contains a list; a tool lists the skills on request
)

// PresenceOf returns the best presence of a skill in the descriptions of tools that a client sees.
func PresenceOf(e *catalog.Entry, v catalog.View, tools []*Tool, c profile.Client) Presence {
	best := PresenceUnlisted
	for _, t := range tools {
		if t.arranged == nil {
			continue
		}
		skills := Offered(v, []*Tool{t})
		if t.lay != nil {
			skills = v.ListedFor(c.Agent())
		}
		now, i := PresenceAbsent, slices.IndexFunc(skills, e.SameURI)
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

// presence returns the presence of the i-th skill of a list.
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

// cuts returns a Fit for each limit of the known clients. other is the number of other characters
// in the description. The first Fit is for all other clients.
func cuts(other int) []Fit {
	out := []Fit{{Budget: listing.BudgetFor(profile.Client{}, other)}}
	newer, last := profile.Client{}, 0 // the previous row, and its limit
	for _, c := range profile.Known() {
		limit := c.Profile().Description
		if limit == 0 || c.Name == newer.Name && limit == last {
			continue
		}
		f := Fit{client: c, Client: c.Name, Limit: limit, Budget: listing.BudgetFor(c, other)}
		if c.Name == newer.Name {
			f.Client += " before " + newer.Version
		}
		out, newer, last = append(out, f), c, limit
	}
	return out
}

// charactersPerToken is the number of characters that count as one token, as usual for English.
const charactersPerToken = 4

// ListTokens estimates the tokens that lists of skills take in the context of a client, given the
// client's name in the table of agents. own is for the client's own list of the skills that it
// shows itself, with whole descriptions. knack is for the list in the default tools.
func ListTokens(v catalog.View, agent string) (own, knack int) {
	added, isAdded := v.ListedFor(agent), map[*catalog.Entry]bool{}
	for _, e := range added {
		isAdded[e] = true
	}
	skills := slices.DeleteFunc(slices.Clone(v.Listed), func(e *catalog.Entry) bool { return isAdded[e] })
	if len(skills) > 0 {
		own = listing.Of(skills).Length(listing.EscapedBullets)
	}
	if len(added) > 0 {
		l := layOut(v, profile.ClientOf(agent), display.Length(defaultHead)+display.Length(skillTail))
		knack = display.Length(l.description) + display.Length(l.instructions)
	}
	return own / charactersPerToken, knack / charactersPerToken
}
