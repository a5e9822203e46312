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

// The limits of the names without a skill.
const (
	maxMissing = 500 // names
	maxURI     = display.EchoLimit
	// leastAsked is the number of requests from which a name is displayed and stored. It excludes a
	// client's single mistake, which need not be a name at all.
	leastAsked = 2
)

type missed struct {
	Times uint64 `json:"times"`
	Last  week   `json:"last"`
}

// Missing is a name that clients requested without finding a skill.
type Missing struct {
	Name  string
	Times uint64
	Last  time.Time // the Monday of the week of the last request
}

// missed records a tool call, a resource or a prompt that did not find its skill. It counts only if
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

// has reports whether a view has a skill with a name or a URI. A skipped skill does not count.
func has(v catalog.View, asked string) bool {
	e := event.Find(v, asked)
	return e != nil && e.Status != catalog.Skipped
}

// nameable returns the form in which a name is counted. It is "" if the name cannot be the name of
// a skill or a URI, or if the audit log would change it.
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

// miss counts requests for a name. If there are too many names, it forgets those with the fewest
// requests. The caller holds mu.
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

// Missing returns the names that clients requested without finding a skill, the most frequent
// first. ok is false if a root is unread, because that root may have such a skill. ok is also false
// if a rule could hide skills from the view's client: the names could reveal a hidden skill.
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
