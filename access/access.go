// Package access decides which skills each subject sees. It maps a token to a
// subject and a subject to the rules that apply. The result is a [catalog.Filter],
// which every surface uses.
package access

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/knack-dev/knack/catalog"
	"github.com/knack-dev/knack/internal/typo"
	"github.com/knack-dev/knack/skill"
)

// Subject is the user or client that a request comes from.
type Subject struct {
	Name   string
	Groups []string
}

// WithSubject returns a context for a request of the subject s.
func WithSubject(ctx context.Context, s Subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, s)
}

// SubjectOf returns the subject of the request that ctx belongs to. It returns the
// zero Subject if none was set.
func SubjectOf(ctx context.Context) Subject {
	s, _ := ctx.Value(subjectKey{}).(Subject)
	return s
}

type subjectKey struct{}

// Verifier returns the subject of a token. Another way to authenticate, such as
// OpenID, is another Verifier.
type Verifier interface {
	// Verify returns the subject of a valid token. Either it takes as long for a
	// wrong token as for a right one, or tokens cannot be guessed. It may be called
	// from several goroutines.
	Verify(ctx context.Context, token string) (Subject, bool)
}

// Rule allows or denies skills to some subjects. It applies to each of its Subjects
// and to each member of its Groups; a rule with neither applies to all subjects.
type Rule struct {
	Subjects, Groups []string
	Allow, Deny      []Pattern
}

func (r *Rule) holdsFor(s Subject) bool {
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
		if r := &p.rules[i]; r.holdsFor(s) {
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
	matches := func(p Pattern) bool { return p.Match(base) }
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

// Idle lists the patterns that match no skill, in the order of the rules. Most
// likely they are misspelt, and a misspelt deny denies nothing.
func (p *Policy) Idle(entries []*catalog.Entry) []Pattern {
	var idle []Pattern
	for _, r := range p.rules {
		for _, pattern := range slices.Concat(r.Allow, r.Deny) {
			if !slices.ContainsFunc(entries, func(e *catalog.Entry) bool { return pattern.Match(base(e)) }) {
				idle = append(idle, pattern)
			}
		}
	}
	return idle
}

// Misspelt is a pattern that no skill matches as written, but some skill would in
// another spelling. Most likely the rules were written for other roots than the server
// has, and a deny hides nothing.
type Misspelt struct {
	Pattern Pattern
	As      string // the spelling that a skill matches
}

// Misspelt lists, in the order of the rules, the patterns that match a skill only after
// the leading root label is added, removed or replaced.
func (p *Policy) Misspelt(entries []*catalog.Entry) (all []Misspelt) {
	for _, pattern := range p.Idle(entries) {
		for _, e := range entries {
			if as := pattern.respelt(e, entries); as != "" {
				all = append(all, Misspelt{pattern, as})
				break
			}
		}
	}
	return all
}

// respelt returns the spelling in which a pattern would match a skill. It returns "" if
// more than the root label differs.
func (p Pattern) respelt(e *catalog.Entry, entries []*catalog.Entry) string {
	prefix := ""
	at := base(e)
	if e.Root.Prefix != "" {
		prefix, at = url.PathEscape(e.Root.Prefix)+"/", strings.TrimPrefix(at, e.Root.Prefix+"/")
	}
	text := strings.TrimPrefix(p.text, skill.Scheme)
	if prefix != "" && p.Match(at) {
		return skill.Scheme + prefix + text
	}
	first, rest, _ := strings.Cut(text, "/")
	if len(p.segments) < 2 || p.segments[0].deep || !p.segments[0].isLabel(entries) {
		return ""
	}
	if (Pattern{segments: p.segments[1:]}).Match(at) && first+"/" != prefix {
		return skill.Scheme + prefix + rest
	}
	return ""
}

// numbered matches the label of a root that has no name of its own.
var numbered = regexp.MustCompile(`^(dir|env)-[0-9]+$`)

// isLabel reports whether a segment is the label of a root, here or on a server with
// more roots.
func (s segment) isLabel(entries []*catalog.Entry) bool {
	return len(s.parts) == 1 && numbered.MatchString(s.parts[0]) ||
		slices.ContainsFunc(entries, func(e *catalog.Entry) bool { return s.match(e.Root.Label) })
}

// Stranger is a name in a rule that no token's subject has. Most likely it is misspelt,
// and a rule that denies then denies nothing.
type Stranger struct {
	Group bool // the name is a group's; else a subject's
	Name  string
	Near  string // the nearest known name; empty if no known name is near
}

// Strangers lists the groups and subjects of the rules that no token has, each once,
// in the order of the rules.
func (p *Policy) Strangers(t *Tokens) (all []Stranger) {
	var groups, subjects []string
	if t != nil {
		for _, h := range t.held {
			groups, subjects = append(groups, h.Groups...), append(subjects, h.Name)
		}
	}
	add := func(group bool, names, known []string) {
		for _, name := range names {
			s := Stranger{group, name, ""}
			if !slices.Contains(known, name) {
				if s.Near = typo.Nearest(name, known); !slices.Contains(all, s) {
					all = append(all, s)
				}
			}
		}
	}
	for _, r := range p.rules {
		add(true, r.Groups, groups)
		add(false, r.Subjects, subjects)
	}
	return all
}
