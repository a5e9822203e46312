package access

import (
	"context"
	"sync/atomic"

	"github.com/knack-dev/knack/catalog"
)

// State is who may ask and what each of them sees, at one moment. It never changes: a
// request that takes it once cannot be let in by the tokens of one moment and look
// through the rules of another.
type State struct {
	Verifier Verifier // nil: everyone may ask, and is the subject without name and groups
	Policy   *Policy  // nil: everyone sees everything
}

// Principal is who asks, and what that one sees.
type Principal struct {
	Subject
	Sight *catalog.Sight // nil sees everything
}

// Of is the principal of a subject.
func (s *State) Of(who Subject) Principal {
	if s.Policy == nil {
		return Principal{Subject: who}
	}
	return Principal{who, s.Policy.Sight(who)}
}

// Know reports whose a token is. If no tokens are needed, every request is of the subject
// without name and groups, whatever it bears.
func (s *State) Know(ctx context.Context, token string) (Principal, bool) {
	if s.Verifier == nil {
		return s.Of(Subject{}), true
	}
	who, ok := s.Verifier.Verify(ctx, token)
	if !ok {
		return Principal{}, false
	}
	return s.Of(who), true
}

// Context is a context in which the catalogue shows what the principal sees, and
// [SubjectOf] is its subject.
func (p Principal) Context(ctx context.Context) context.Context {
	ctx = WithSubject(ctx, p.Subject)
	if p.Sight == nil {
		return ctx
	}
	return catalog.WithSight(ctx, p.Sight)
}

// Gate holds the state that is in force. The zero Gate lets everyone see everything.
type Gate struct{ state atomic.Pointer[State] }

// NewGate puts a state in force.
func NewGate(s State) *Gate {
	g := &Gate{}
	g.Set(s)
	return g
}

// Set puts another state in force: for requests that ask from now on.
func (g *Gate) Set(s State) { g.state.Store(&s) }

// Now is the state in force.
func (g *Gate) Now() *State {
	if s := g.state.Load(); s != nil {
		return s
	}
	return &State{}
}

// Verify is [Verifier] by the state in force; without a verifier it knows no token.
func (g *Gate) Verify(ctx context.Context, token string) (Subject, bool) {
	v := g.Now().Verifier
	if v == nil {
		return Subject{}, false
	}
	return v.Verify(ctx, token)
}
