package access

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/skill"
)

// Rule allows or denies skills to some subjects. It applies to each of its Subjects
// and to each member of its Groups; a rule with neither applies to all subjects.
type Rule struct {
	Subjects, Groups []string
	Allow, Deny      []Pattern
}

func (r *Rule) appliesTo(s Subject) bool {
	if len(r.Subjects)+len(r.Groups) == 0 {
		return true
	}
	return slices.Contains(r.Subjects, s.Name) ||
		slices.ContainsFunc(r.Groups, func(g string) bool { return slices.Contains(s.Groups, g) })
}

// Policy is a set of rules. Of the rules that apply to a subject, one that denies a skill outweighs
// all that allow it. If no rule matches a skill, the default decides.
//
// Rules match the URI of a skill's folder. A skipped skill has no URI, so rules match the URIs that
// it could have. One match denies it, and all must match to allow it. A pattern that matches no
// skill denies the skills that it would match in another spelling; see [Policy.Misspelt]. In a root
// whose label can move (see [IsMovable]), a pattern also denies the skills that it would deny
// without the label. There it allows only skills that it would also allow without the label. If a
// link shows a denied skill under another path, the skill is hidden there too. Skills whose folders
// contain a denied skill are also hidden.
type Policy struct {
	allow bool
	rules []Rule

	mu      sync.Mutex
	filters map[string]*catalog.Filter // by the indexes of the rules that apply to the subject
}

// NewPolicy returns a policy. If allow is set, a skill that no rule matches is visible.
func NewPolicy(allow bool, rules []Rule) *Policy {
	return &Policy{allow: allow, rules: rules, filters: map[string]*catalog.Filter{}}
}

// Filter returns the visibility filter of a subject. Subjects to which the same rules apply share
// one filter.
func (p *Policy) Filter(s Subject) *catalog.Filter {
	var rules []*Rule
	var key strings.Builder
	for i := range p.rules {
		if r := &p.rules[i]; r.appliesTo(s) {
			rules = append(rules, r)
			key.WriteString(strconv.Itoa(i))
			key.WriteByte(' ')
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	filter := p.filters[key.String()]
	if filter == nil {
		allow := p.allow
		filter = &catalog.Filter{VisibleIn: func(s *catalog.Snapshot) func(*catalog.Entry) bool {
			idle, around := misspellings(denied(rules), s), around(rules, allow, s)
			return func(e *catalog.Entry) bool {
				return visible(rules, allow, e, s) && !linked(rules, allow, e, s.Roots) && !around[realOf(e, s.Roots)] && !spelt(idle, e, s)
			}
		}, Whole: hidesNothing(rules, allow)}
		p.filters[key.String()] = filter
	}
	return filter
}

// hidesNothing reports whether rules can never hide a skill, present or future.
func hidesNothing(rules []*Rule, allow bool) bool {
	for _, r := range rules {
		if len(r.Deny) > 0 {
			return false
		}
		allow = allow || slices.ContainsFunc(r.Allow, func(p Pattern) bool { return len(p.segments) == 1 && p.segments[0].deep })
	}
	return allow
}

// denied returns the denying patterns of rules.
func denied(rules []*Rule) (all []Pattern) {
	for _, r := range rules {
		all = append(all, r.Deny...)
	}
	return all
}

func visible(rules []*Rule, allow bool, e *catalog.Entry, in *catalog.Snapshot) bool {
	if deniesOne(rules, e.Root, deniablePlaces(in, e)) {
		return false
	}
	return allow || allowsAll(rules, e.Root, places(in, e))
}

// allowsAll reports whether the rules allow the skill at each of the places.
func allowsAll(rules []*Rule, root *skill.Root, places [][]string) bool {
	return !slices.ContainsFunc(places, func(at []string) bool {
		return !slices.ContainsFunc(rules, func(r *Rule) bool {
			return slices.ContainsFunc(r.Allow, func(one Pattern) bool { return allows(one, root, at) })
		})
	})
}

// deniesOne reports whether any rule denies the skill at any of the places.
func deniesOne(rules []*Rule, root *skill.Root, places [][]string) bool {
	return slices.ContainsFunc(places, func(at []string) bool {
		return slices.ContainsFunc(rules, func(r *Rule) bool {
			return slices.ContainsFunc(r.Deny, func(one Pattern) bool { return denies(rules, one, root, at) })
		})
	})
}

// places returns the possible paths of a skill's folder in the URI space, as segments. If the
// skill's name cannot be read, only * and ** match its segment. See
// [catalog.Snapshot.PossibleBases].
func places(in *catalog.Snapshot, e *catalog.Entry) [][]string {
	bases, _ := in.PossibleBases(e, "")
	return split(bases)
}

// deniablePlaces returns the places at which a deny hides a skill. A skipped skill has one more
// such place than [places] returns, and every segment of a pattern matches a name that cannot be
// read.
func deniablePlaces(in *catalog.Snapshot, e *catalog.Entry) [][]string {
	bases, next := in.PossibleBases(e, anyName)
	if next != "" {
		bases = append(bases, next)
	}
	return split(bases)
}

func split(bases []string) [][]string {
	all := make([][]string, len(bases))
	for i, base := range bases {
		all[i] = strings.Split(base, "/")
	}
	return all
}
