package origin

import "errors"

// Categories of the errors about a source that answers, but has no acceptable library. Any other
// error may be temporary.
var (
	ErrGone     = errors.New("the source does not have it")
	ErrNoSkills = errors.New("it is not a library of skills")
	ErrLimit    = errors.New("it is larger than knack takes")
)

// ErrOffline is the error of a request to a server that the caller forbids.
var ErrOffline = errors.New("it would have to be asked, and knack is offline: run it without --offline and KNACK_OFFLINE")

// Mark adds a category to err, and keeps its text.
func Mark(category, err error) error {
	if err == nil {
		return nil
	}
	return &categorized{err, category}
}

type categorized struct{ err, category error }

func (m *categorized) Error() string   { return m.err.Error() }
func (m *categorized) Unwrap() []error { return []error{m.err, m.category} }
