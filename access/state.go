package access

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
)

// State contains the tokens and rules in force at one moment. It never changes. So a request that
// loads it once cannot mix old tokens with new rules.
type State struct {
	Verifier Verifier // nil means that no token is needed, and every request has the zero Subject
	Policy   *Policy  // nil means that every subject sees everything
}

// Principal is the subject of a request with its visibility filter.
type Principal struct {
	Subject
	Filter *catalog.Filter // nil shows everything
}

// PrincipalOf returns the principal of a subject.
func (s *State) PrincipalOf(who Subject) Principal {
	if s.Policy == nil {
		return Principal{Subject: who}
	}
	return Principal{who, s.Policy.Filter(who)}
}

// Authenticate returns the principal of a token. If no token is needed, every request has the zero
// Subject, even one with a token.
func (s *State) Authenticate(ctx context.Context, token string) (Principal, bool) {
	if s.Verifier == nil {
		return s.PrincipalOf(Subject{}), true
	}
	who, ok := s.Verifier.Verify(ctx, token)
	if !ok {
		return Principal{}, false
	}
	return s.PrincipalOf(who), true
}

// Context returns a context in which the catalogue shows only the principal's skills, and
// [SubjectOf] returns the principal's subject.
func (p Principal) Context(ctx context.Context) context.Context {
	ctx = withSubject(ctx, p.Subject)
	if p.Filter == nil {
		return ctx
	}
	return catalog.WithFilter(ctx, p.Filter)
}

// Gate holds the current state. The zero Gate shows everything to every client.
type Gate struct{ state atomic.Pointer[State] }

// NewGate returns a gate with the state s.
func NewGate(s State) *Gate {
	g := &Gate{}
	g.Set(s)
	return g
}

// Set replaces the state for requests that load it from now on.
func (g *Gate) Set(s State) { g.state.Store(&s) }

// Now returns the current state.
func (g *Gate) Now() *State {
	if s := g.state.Load(); s != nil {
		return s
	}
	return &State{}
}

// Verify implements [Verifier] with the current state. Without a verifier it accepts no token.
func (g *Gate) Verify(ctx context.Context, token string) (Subject, bool) {
	v := g.Now().Verifier
	if v == nil {
		return Subject{}, false
	}
	return v.Verify(ctx, token)
}
