package access

import (
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/knack-dev/knack/catalog"
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

// Policy is a set of rules. Of the rules that apply to a subject, one that denies a
// skill outweighs all that allow it. The default decides a skill that no rule
// matches.
//
// Rules match the URI of a skill's folder. A skipped skill has no URI; it is matched
// by the URI that its folder would give it.
type Policy struct {
	allow bool
	rules []Rule

	mu      sync.Mutex
	filters map[string]*catalog.Filter // by the rules that apply
}

// NewPolicy returns a policy. If allow is set, a skill that no rule matches is visible.
func NewPolicy(allow bool, rules []Rule) *Policy {
	return &Policy{allow: allow, rules: rules, filters: map[string]*catalog.Filter{}}
}

// Filter returns the visibility filter of a subject. Subjects to which the same rules
// apply share one value.
func (p *Policy) Filter(s Subject) *catalog.Filter {
	var held []*Rule
	var key strings.Builder
	for i := range p.rules {
		if r := &p.rules[i]; r.appliesTo(s) {
			held = append(held, r)
			key.WriteString(strconv.Itoa(i))
			key.WriteByte(' ')
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	filter := p.filters[key.String()]
	if filter == nil {
		allow := p.allow
		filter = &catalog.Filter{Visible: func(e *catalog.Entry) bool { return visible(held, allow, base(e)) }}
		p.filters[key.String()] = filter
	}
	return filter
}

func visible(rules []*Rule, allow bool, base string) bool {
	matches := func(p Pattern) bool { return p.match(base) }
	for _, r := range rules {
		if slices.ContainsFunc(r.Deny, matches) {
			return false
		}
		allow = allow || slices.ContainsFunc(r.Allow, matches)
	}
	return allow
}

// base returns the path of a skill's folder in the URI space.
func base(e *catalog.Entry) string {
	if e.Base() != "" {
		return e.Base()
	}
	at := e.Path
	if at == "." {
		at = e.Folder()
	}
	if e.Root.Prefix != "" {
		return e.Root.Prefix + "/" + at
	}
	return at
}
