package access

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"slices"
	"sync"
	"time"
)

// Bounds of sessions.
const (
	// SessionLife is the lifetime of a session. It can be long because skills are only read, and
	// revoking a token ends its sessions immediately.
	SessionLife = 7 * 24 * time.Hour
	// maxSessions bounds the sessions of all tokens, and maxSessionsOfOne the sessions of one
	// token. A user who signs in again and again ends only their own sessions.
	maxSessions      = 4096
	maxSessionsOfOne = 16
)

// Sessions contains the sessions of signed-in users. A session only represents its token, which the
// verifier checks each time. So revoking the token, or changing its groups, takes effect
// immediately.
type Sessions struct {
	verifier Verifier

	mu       sync.Mutex
	sessions []*session // oldest first
}

type session struct {
	key   [sha256.Size]byte // hash of the id, so that the id itself is never compared
	token string
	ends  time.Time
}

// NewSessions returns an empty set of sessions for the subjects of a verifier.
func NewSessions(v Verifier) *Sessions { return &Sessions{verifier: v} }

// Begin starts a session for a token that the verifier accepts. The id is 256 random bits, and
// reveals nothing about the token. The session ends after life, or earlier if the token becomes
// invalid.
func (s *Sessions) Begin(ctx context.Context, token string, life time.Duration) (id string, subject Subject, ok bool) {
	if subject, ok = s.verifier.Verify(ctx, token); !ok {
		return "", Subject{}, false
	}
	var b [32]byte
	rand.Read(b[:]) // never fails (crypto/rand)
	id = base64.RawURLEncoding.EncodeToString(b[:])
	now := time.Now()
	s.mu.Lock()
	if len(s.sessions) >= maxSessions { // some may belong to tokens that are no longer valid
		s.mu.Unlock()
		s.Recheck(ctx)
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	sameToken, oldest := 0, 0
	for i := len(s.sessions) - 1; i >= 0; i-- {
		if s.sessions[i].token == token {
			sameToken, oldest = sameToken+1, i
		}
	}
	switch {
	case sameToken >= maxSessionsOfOne:
		s.sessions = slices.Delete(s.sessions, oldest, oldest+1)
	case len(s.sessions) >= maxSessions:
		s.sessions = slices.Delete(s.sessions, 0, 1)
	}
	s.sessions = append(s.sessions, &session{sha256.Sum256([]byte(id)), token, now.Add(life)})
	return id, subject, true
}

// Token returns the token of a session. It does not verify the token; the caller does.
func (s *Sessions) Token(id string) (token string, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.find(id)
	if i < 0 {
		return "", false
	}
	return s.sessions[i].token, true
}

// Subject returns the subject that a session's token has now.
func (s *Sessions) Subject(ctx context.Context, id string) (Subject, bool) {
	token, ok := s.Token(id)
	if !ok {
		return Subject{}, false
	}
	return s.verifier.Verify(ctx, token)
}

// End ends a session.
func (s *Sessions) End(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.find(id); i >= 0 {
		s.sessions = slices.Delete(s.sessions, i, i+1)
	}
}

// Recheck ends the sessions whose tokens the verifier no longer accepts. They stay ended even if
// the verifier accepts the tokens again later.
func (s *Sessions) Recheck(ctx context.Context) {
	s.mu.Lock()
	sessions := slices.Clone(s.sessions)
	s.mu.Unlock()
	gone := map[*session]bool{}
	for _, one := range sessions {
		if _, ok := s.verifier.Verify(ctx, one.token); !ok {
			gone[one] = true
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = slices.DeleteFunc(s.sessions, func(one *session) bool { return gone[one] })
}

// find removes expired sessions and returns the index of the session with that id,
// or -1. The caller holds the lock.
func (s *Sessions) find(id string) int {
	now := time.Now()
	s.sessions = slices.DeleteFunc(s.sessions, func(one *session) bool { return !now.Before(one.ends) })
	key := sha256.Sum256([]byte(id))
	return slices.IndexFunc(s.sessions, func(one *session) bool { return one.key == key })
}
