package catalog

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/skill"
)

// Incomplete is the error of an answer that needs more than the catalogue has read so far. A list
// would lack skills, or a name may belong to a skill that was not read yet. It matches [ErrLate].
type Incomplete struct {
	// unread reports whether a root is being read for the first time. If false, a root
	// that was read before does not answer now.
	unread bool
	// skills is the number of skills in the view so far, in any status.
	skills int
	// read is the number of folders and files read so far. It is 0 in a narrowed view, since some
	// may be hidden.
	read int64
	// silent is how long the longest scan run of these roots has lasted. On a disk that hangs, a
	// scan run never ends.
	silent time.Duration
	// roots are the labels of the roots that are not read. It is empty in a narrowed
	// view, which may not show every label.
	roots []string
}

// silentTime is the time without an answer from a root after which callers do not wait for it.
const silentTime = time.Minute

// Error describes the missing skills and the fix, for people and models.
func (i *Incomplete) Error() string {
	if !i.unread && i.silent >= silentTime {
		return i.State() + "; no other root has what was asked for, so check the spelling, or go on without it"
	}
	return i.State() + "; try again in a moment"
}

// State describes the missing skills.
func (i *Incomplete) State() string {
	switch {
	case i.unread && i.skills > 0:
		return "the skills are still being read, " + display.Count(i.skills, "skill") + " so far"
	case i.unread && i.read > 0:
		return fmt.Sprintf("the skills are still being read, %d folders and files so far", i.read)
	case i.unread:
		return "the skills are still being read"
	}
	answer := "does not answer in time"
	if i.silent >= silentTime {
		answer = fmt.Sprintf("has not answered for %d min", int(i.silent.Minutes()))
	}
	if len(i.roots) == 0 {
		return "a folder of skills " + answer
	}
	return "skills of " + strings.Join(i.roots, ", ") + " cannot be looked up, since the disk " + answer
}

// Is reports whether err is [ErrLate].
func (i *Incomplete) Is(err error) bool { return err == ErrLate }

// Incomplete describes the skills that the lists of this view may lack. It is nil once every listed
// root was read. A root that was read once stays in the lists as it was then.
func (v View) Incomplete() *Incomplete { return v.lacks(false) }

// Unsure returns the reason that a name unknown to the view may still belong to a skill: some root,
// listed or not, is unread or does not answer now. The result is nil if every root answered the
// last scan run.
func (v View) Unsure() *Incomplete { return v.lacks(true) }

// Unreachable names the remote sources that have no skills here, and since when, or returns "". The
// first attempt to reach them has failed, so the view is complete without them.
func (v View) Unreachable() string {
	if v.Snapshot == nil {
		return ""
	}
	var all []string
	for _, r := range v.Roots {
		if r.State() == RootUnreachable {
			reason, _ := r.Reason()
			all = append(all, "skills of "+r.Label+" are missing: "+reason)
		}
	}
	return strings.Join(all, "; ")
}

// noRoots are the wanted roots of a view without a catalogue.
var noRoots []skill.Root

func (v View) lacks(byName bool) *Incomplete {
	if v.Snapshot == nil {
		return nil
	}
	wanted := &noRoots
	if v.catalog != nil {
		wanted = v.catalog.wanted.Load()
	}
	whole := v.entire() // a narrowed view does not show every root
	if !byName && whole.complete.Load() == wanted {
		return nil
	}
	roots := whole.unread(*wanted, byName)
	unread := len(roots) > 0
	for i := range whole.Roots {
		if r := &whole.Roots[i]; byName && r.Late() && !r.Unread() {
			roots = append(roots, r.Label)
		}
	}
	if len(roots) == 0 {
		whole.complete.Store(wanted)
		return nil
	}
	i := &Incomplete{unread: unread, skills: len(v.Entries)}
	if v.catalog != nil {
		i.silent = v.catalog.silent(roots)
	}
	if !v.Narrowed() {
		i.roots = roots
		if v.catalog != nil {
			i.read = v.catalog.progress.Load()
		}
	}
	return i
}

// silent returns how long the longest scan run of the given roots has lasted.
func (c *Catalog) silent(roots []string) (most time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, h := range c.sources {
		if h.run != nil && slices.Contains(roots, h.Root().Label) {
			most = max(most, time.Since(h.run.begun))
		}
	}
	return most
}

// entire returns the whole snapshot that this one is a part of, or the snapshot itself.
func (s *Snapshot) entire() *Snapshot {
	if s.whole != nil {
		return s.whole
	}
	return s
}

// unread returns the labels of the roots that were not read yet. It checks the roots of
// the snapshot and the wanted ones, since the sources may be newer. Unlisted roots count
// only if byName is set.
func (s *Snapshot) unread(wanted []skill.Root, byName bool) (labels []string) {
	for i := range s.Roots {
		if r := &s.Roots[i]; r.Unread() && (byName || !r.Unlisted) {
			labels = append(labels, r.Label)
		}
	}
	for i := range wanted {
		root := &wanted[i]
		if s.status(root, i) == nil && (byName || !root.Unlisted) {
			labels = append(labels, root.Label)
		}
	}
	return labels
}

// status returns the status of a root, or nil. It first tries place, the root's index in the
// sources. That index is right unless the sources have just changed, and each list needs the status
// of all roots.
func (s *Snapshot) status(root *skill.Root, place int) *RootStatus {
	if place < len(s.Roots) && s.Roots[place].Root == *root {
		return &s.Roots[place]
	}
	for i := range s.Roots {
		if s.Roots[i].Root == *root {
			return &s.Roots[i]
		}
	}
	return nil
}
