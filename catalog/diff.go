package catalog

import (
	"errors"
	"slices"

	"github.com/knack-dev/knack/skill"
)

// Diff describes the changes of a refresh.
type Diff struct {
	Added, Removed, Changed []*Entry // Changed contains the new state
	Before                  []*Entry // the old state of each entry in Changed
	// Listing reports whether the list that models see differs, for an added client or for all
	// other clients.
	Listing bool
	// Invocable is the first index at which [Snapshot.Invocable] differs in a name or
	// a description, or -1 if it is the same.
	Invocable int
	// Completed reports whether the lists are complete now but were not before, because a root was
	// unread; see [View.Incomplete].
	Completed bool

	prev, next *Snapshot
}

// Empty reports whether no visible change happened.
func (d Diff) Empty() bool {
	return len(d.Added)+len(d.Removed)+len(d.Changed) == 0 && !d.Listing && !d.Completed
}

// Served reports whether a skill that was or is served was added, removed or changed.
// A skipped skill has no URI, so no resource shows its changes.
func (d Diff) Served() bool {
	for _, all := range [][]*Entry{d.Added, d.Removed, d.Changed, d.Before} {
		if slices.ContainsFunc(all, func(e *Entry) bool { return e.Status != Skipped }) {
			return true
		}
	}
	return false
}

func diff(prev, next *Snapshot) Diff {
	d := Diff{prev: prev, next: next, Completed: completed(prev.entire(), next.entire()), Listing: !sameListings(prev, next), Invocable: firstOther(prev.Invocable(), next.Invocable())}
	for i, e := range next.Entries {
		pause(i)
		old := prev.samePlace(e)
		switch {
		case old == nil:
			d.Added = append(d.Added, e)
		case old.changed(e):
			d.Changed, d.Before = append(d.Changed, e), append(d.Before, old)
		}
	}
	for i, e := range prev.Entries {
		pause(i)
		if next.samePlace(e) == nil {
			d.Removed = append(d.Removed, e)
		}
	}
	return d
}

// completed reports whether next lacks no root, and contains at least one that was unread in prev.
func completed(prev, next *Snapshot) bool {
	if len(next.unread(nil, false)) > 0 {
		return false
	}
	return slices.ContainsFunc(next.Roots, func(r RootStatus) bool {
		i := slices.IndexFunc(prev.Roots, func(was RootStatus) bool { return was.Root == r.Root })
		return !r.Unlisted && (i < 0 || prev.Roots[i].Unread())
	})
}

// changed reports whether anything differs that a surface shows of the skill. A new time of the
// file does not count.
func (e *Entry) changed(now *Entry) bool {
	return e.Skill != now.Skill && (e.Digest != now.Digest || e.Name != now.Name || e.Available != now.Available || e.Entry != now.Entry ||
		e.Link() != now.Link() || !slices.Equal(e.Problems, now.Problems)) || e.Status != now.Status || !e.SameURI(now)
}

func firstOther(a, b []*Entry) int {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i].Name != b[i].Name || a[i].Description != b[i].Description {
			return i
		}
	}
	return -1
}

func sameListing(a, b []*Entry) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || a[i].Description != b[i].Description || !a[i].SameURI(b[i]) || a[i].Root.Scope != b[i].Root.Scope {
			return false
		}
	}
	return true
}

func sameRoots(prev, next *Snapshot) bool {
	if len(prev.Roots) != len(next.Roots) {
		return false
	}
	for i := range prev.Roots {
		a, b := prev.Roots[i], next.Roots[i]
		if a.Root != b.Root || a.Missing != b.Missing || a.Count != b.Count || a.Led != b.Led || !sameReason(a, b) || !slices.EqualFunc(a.Notices, b.Notices, sameNotice) {
			return false
		}
	}
	return true
}

func sameNotice(a, b skill.Notice) bool {
	return a.Path == b.Path && a.Rule == b.Rule && a.Message == b.Message && a.Fix == b.Fix
}

func sameReason(a, b RootStatus) bool {
	why, _ := a.Reason()
	now, _ := b.Reason()
	return why == now
}

// logProblems logs each skipped skill and each failed root, once while the problem lasts.
// It leaves out unlisted roots. The caller holds mu.
func (c *Catalog) logProblems(next *Snapshot) {
	before := c.logged
	c.logged = make(map[string]bool, len(before))
	for _, e := range next.Skipped {
		if reason, ok := errors.AsType[*skill.HeldError](e.Fault()); e.Root.Unlisted || ok && reason.Pending {
			continue
		}
		p, _ := e.SkipReason()
		c.logOnce(before, "skill skipped", e.localPlace(), p)
	}
	for _, r := range next.Roots {
		if r.Unlisted {
			continue
		}
		if s := r.State(); r.Err != nil && s != RootUnreachable && !(s == RootReading && r.Dir == "") { // a remote source itself reports why it has nothing yet
			reason, fix := r.Reason()
			c.logOnce(before, "root not read", r.LocalName(), skill.Problem{Rule: "root-unreadable", Message: reason, Fix: fix})
		}
		for _, n := range r.Notices {
			c.logOnce(before, "entry skipped", r.Label+":"+n.Path, skill.Problem{Rule: n.Rule, Message: n.Message, Fix: n.Fix})
		}
	}
}

func (c *Catalog) logOnce(before map[string]bool, what, where string, p skill.Problem) {
	key := what + "\x00" + where + "\x00" + p.Message
	known := before[key] || c.logged[key]
	c.logged[key] = true
	if known {
		return
	}
	attrs := []any{"at", where}
	if pos := p.Position.String(); pos != "" {
		attrs[1] = where + ":" + pos
	}
	attrs = append(attrs, "reason", p.Message)
	if p.Fix != "" {
		attrs = append(attrs, "fix", p.Fix)
	}
	c.log.Warn(what, attrs...)
}
