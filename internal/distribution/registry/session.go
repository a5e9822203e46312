package registry

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/knack-dev/knack/internal/distribution/registry/internal/login"
)

// session is the person's identity at a registry: credentials, and the tokens issued for them.
type session struct {
	client *http.Client
	given  authorizations
	find   func(ctx context.Context) (login.Credentials, error)

	mu    sync.Mutex
	asked bool
	found login.Credentials
}

// newSession returns a session that looks for credentials when the registry requires them.
func (r *registry) newSession() *session {
	return &session{client: r.client, find: func(ctx context.Context) (login.Credentials, error) { return r.all.login.Find(ctx, r.address()) }}
}

// credentials returns the session's credentials, looking for them once.
func (s *session) credentials(ctx context.Context) (login.Credentials, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked {
		return s.found, nil
	}
	found, err := s.find(ctx)
	if err != nil {
		return found, &loginError{err}
	}
	s.found, s.asked = found, true
	return found, nil
}

// signedIn returns the session, and whether it has already looked for credentials.
func (r *registry) signedIn() (s *session, earlier bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.session.mu.Lock()
	defer r.session.mu.Unlock()
	return r.session, r.session.asked
}

// renew looks for credentials again after the registry answered with this status in a session. It
// returns the session for another attempt, or nil. After status 403, it requests a token with
// more rights for the same credentials.
func (r *registry) renew(ctx context.Context, refused *session, code int) *session {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.session != refused { // another request has renewed it
		return r.session
	}
	next := r.newSession()
	found, err := next.credentials(ctx)
	switch {
	case err != nil:
		r.session = next // it looks for credentials again
		return nil
	case found == refused.found && code != http.StatusForbidden:
		return nil
	}
	r.session = next
	return next
}

// refusal returns the status with which the registry or its sign-in refuses the session, or 0.
func (r *Repository) refusal(resp *http.Response, err error) int {
	var sign *signInError
	code := 0
	switch {
	case errors.Is(err, errNoCredentials):
		code = http.StatusUnauthorized
	case errors.As(err, &sign):
		if code = http.StatusUnauthorized; sign.code != code && sign.code != http.StatusForbidden && sign.code != http.StatusBadRequest {
			code = 0
		}
	case err == nil && resp.Request.URL.Host == r.registry.address():
		code = resp.StatusCode
	}
	if code != http.StatusUnauthorized && code != http.StatusForbidden {
		return 0
	}
	return code
}

// loginError is a failure to find credentials.
type loginError struct{ err error }

func (e *loginError) Error() string { return e.err.Error() }
