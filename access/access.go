// Package access decides who sees which skills: it knows whose a token is, and
// which rules hold for whom. What comes of that is a [catalog.Sight], through
// which every surface looks.
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
	"github.com/knack-dev/knack/skill"
)

// Subject is one who asks.
type Subject struct {
	Name   string
	Groups []string
}

// WithSubject is a context of somebody's request.
func WithSubject(ctx context.Context, s Subject) context.Context {
	return context.WithValue(ctx, subjectKey{}, s)
}

// SubjectOf is whose request a context is of; nobody's where it was never said.
func SubjectOf(ctx context.Context) Subject {
	s, _ := ctx.Value(subjectKey{}).(Subject)
	return s
}

type subjectKey struct{}

// Verifier tells whose a token is. Another way to know subjects, such as OpenID,
// is another Verifier.
type Verifier interface {
	// Verify reports the subject of a valid token. It takes as long for a wrong
	// token as for a right one, or cannot be guessed at. It may be called from
	// several goroutines.
	Verify(ctx context.Context, token string) (Subject, bool)
}

// Rule allows or denies skills to some. It holds for each of its Subjects and for
// everybody in one of its Groups; a rule with neither holds for all.
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

// Policy is a set of rules. Of those that hold for a subject, one that denies a
// skill outweighs all that allow it; a skill that none speaks of is decided by
// the default.
//
// Rules are asked for the URI of a skill's folder. A skipped skill, which has
// none, is judged by the one that its folder would give it.
type Policy struct {
	allow bool
	rules []Rule

	mu     sync.Mutex
	sights map[string]*catalog.Sight // by the rules that hold
}

// NewPolicy makes a policy. allow: a skill that no rule speaks of is seen.
func NewPolicy(allow bool, rules []Rule) *Policy {
	return &Policy{allow: allow, rules: rules, sights: map[string]*catalog.Sight{}}
}

// Sight is what a subject may see: the same value for all for whom the same rules
// hold.
func (p *Policy) Sight(s Subject) *catalog.Sight {
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
	sight := p.sights[key.String()]
	if sight == nil {
		allow := p.allow
		sight = &catalog.Sight{Sees: func(e *catalog.Entry) bool { return sees(held, allow, base(e)) }}
		p.sights[key.String()] = sight
	}
	return sight
}

func sees(rules []*Rule, allow bool, base string) bool {
	matches := func(p Pattern) bool { return p.Match(base) }
	for _, r := range rules {
		if slices.ContainsFunc(r.Deny, matches) {
			return false
		}
		allow = allow || slices.ContainsFunc(r.Allow, matches)
	}
	return allow
}

// base is the path of a skill's folder in the URI space.
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

// Idle lists the patterns that stand for none of the skills, in the order of the
// rules: most likely they are misspelt, and a deny that is misspelt denies
// nothing.
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

// Misspelt is a pattern that no skill matches as it stands, and some skill would in
// another spelling: most likely the server has other roots than the rules were written
// for, and a deny hides nothing.
type Misspelt struct {
	Pattern Pattern
	As      string // the spelling that a skill matches
}

// Misspelt lists the patterns that match a skill only with, without, or with another
// label of a root in front, in the order of the rules.
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

// respelt is how a pattern would have to be written to match a skill; "" if what differs
// is more than the label of a root.
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

// numbered is the label of a root that has no name of its own.
var numbered = regexp.MustCompile(`^(dir|env)-[0-9]+$`)

// isLabel reports whether a segment stands for the label of a root, here or on a server
// with more roots.
func (s segment) isLabel(entries []*catalog.Entry) bool {
	return len(s.parts) == 1 && numbered.MatchString(s.parts[0]) ||
		slices.ContainsFunc(entries, func(e *catalog.Entry) bool { return s.match(e.Root.Label) })
}

// Stranger is a name in a rule that nobody has: most likely it is misspelt, and a
// rule that denies then denies nothing.
type Stranger struct {
	Group bool // else it is a subject's
	Name  string
	Near  string // one that somebody has; empty where none is near
}

// Strangers lists the groups and subjects of the rules that none of the holders of
// tokens is in or is, each once, in the order of the rules.
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
				if s.Near = skill.Nearest(name, known); !slices.Contains(all, s) {
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
