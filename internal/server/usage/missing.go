package usage

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/server/event"
	"github.com/knack-dev/knack/skill"
)

// Limits of the names without a skill.
const (
	maxMissing = 500 // names
	maxURI     = display.EchoLimit
	// leastAsked is how often a name must be requested before it is shown or stored. A client's
	// single mistake, perhaps not a name at all, is forgotten.
	leastAsked = 2
)

type missed struct {
	Times uint64 `json:"times"`
	Last  week   `json:"last"`
}

// Missing is a name that clients requested and did not find.
type Missing struct {
	Name  string
	Times uint64
	Last  time.Time // the Monday of the week of the last request
}

// missed records a tool call, a resource or a prompt that failed to find its skill. It counts if
// the view has no such skill.
func (t *Tally) missed(e *event.Event) {
	name := nameable(e.Asked)
	if name == "" || e.View.Unsure() != nil || has(e.View, e.Asked) {
		return
	}
	now := weekOf(time.Now())
	t.mu.Lock()
	defer t.mu.Unlock()
	t.miss(name, 1, now)
}

// has reports whether a view has a skill with a name or a URI. A skipped one does not count.
func has(v catalog.View, asked string) bool {
	e := event.Find(v, asked)
	return e != nil && e.Status != catalog.Skipped
}

// nameable returns the form of a name to count. It is "" if the name cannot be a skill's name or
// URI, or if the audit log would change it.
func nameable(asked string) string {
	asked = strings.TrimSpace(asked)
	if len(asked) > maxURI || display.RedactURI(asked) != asked || display.OneLine(asked) != asked {
		return ""
	}
	if strings.Contains(asked, "://") {
		uri, err := skill.ParseURI(asked)
		if err != nil {
			return ""
		}
		return uri.String()
	}
	if utf8.RuneCountInString(asked) > skill.MaxName {
		return ""
	}
	return string(skill.KeyOf(asked))
}

// miss counts a name. If there are too many names, it forgets the least requested ones. The
// caller holds mu.
func (t *Tally) miss(name string, times uint64, at week) {
	m := t.missing[name]
	if m == nil {
		if len(t.missing) >= maxMissing {
			least := times
			for _, m := range t.missing {
				least = min(least, m.Times)
			}
			for name, m := range t.missing {
				if m.Times == least {
					delete(t.missing, name)
				}
			}
		}
		if len(t.missing) >= maxMissing {
			return
		}
		m = &missed{}
		t.missing[name] = m
	}
	m.Times += times
	m.Last = max(m.Last, at)
}

// Missing returns the names that clients requested and did not find, the most frequent first. ok
// is false if a root is unread, since it may have such a name. It is also false if a rule could
// hide a skill from the client of the view: a hidden skill is not found either, so the names, or
// their absence, would reveal it.
func (t *Tally) Missing(v catalog.View) (names []Missing, ok bool) {
	if !v.Whole() || v.Unsure() != nil {
		return nil, false
	}
	oldest := weekOf(time.Now()) - Weeks
	t.mu.Lock()
	for name, m := range t.missing {
		if m.Times >= leastAsked && m.Last > oldest {
			names = append(names, Missing{name, m.Times, m.Last.start()})
		}
	}
	t.mu.Unlock()
	// A name that now exists is not missing: the skill is new, or a rule hides it from the
	// clients that requested it.
	names = slices.DeleteFunc(names, func(m Missing) bool { return has(v, m.Name) })
	slices.SortFunc(names, func(a, b Missing) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Name, b.Name))
	})
	return names, true
}
