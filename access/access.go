// Package access decides which skills each subject sees. It maps a token to a subject, and a
// subject to the rules that apply. The result is a [catalog.Filter], which every surface uses.
// [Sessions] contains the sign-ins of browsers. A person presents a token once, and then a cookie
// represents it until the token is revoked.
package access

import (
	"context"
)

// Subject is the user or client that a request comes from.
type Subject struct {
	Name   string
	Groups []string
}

// withSubject returns a context for a request of the subject s.
func withSubject(ctx context.Context, s Subject) context.Context {
	if s.Name == "" && s.Groups == nil && ctx.Value(subjectKey{}) == nil {
		return ctx // without a subject, SubjectOf returns the zero Subject
	}
	return context.WithValue(ctx, subjectKey{}, s)
}

// SubjectOf returns the subject of the request that ctx belongs to. It returns the
// zero Subject if none was set.
func SubjectOf(ctx context.Context) Subject {
	s, _ := ctx.Value(subjectKey{}).(Subject)
	return s
}

type subjectKey struct{}

// Verifier returns the subject of a token. Each way to authenticate has a Verifier, for example in
// package openid.
type Verifier interface {
	// Verify returns the subject of a valid token. It must take as long for a wrong token as for a
	// right one, unless tokens cannot be guessed. It may be called from several goroutines.
	Verify(ctx context.Context, token string) (Subject, bool)
}

// AnyOf returns a verifier that accepts the tokens of all given verifiers. The first one that
// accepts a token decides its subject.
func AnyOf(all ...Verifier) Verifier { return anyOf(all) }

type anyOf []Verifier

// Verify implements [Verifier].
func (a anyOf) Verify(ctx context.Context, token string) (Subject, bool) {
	for _, v := range a {
		if who, ok := v.Verify(ctx, token); ok {
			return who, true
		}
	}
	return Subject{}, false
}
