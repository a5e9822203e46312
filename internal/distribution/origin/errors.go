package origin

import "errors"

// Categories of the errors about a source that answers, but without an acceptable library. An
// error without one of them may be gone at the next attempt.
var (
	ErrGone     = errors.New("the source does not have it")
	ErrNoSkills = errors.New("it is not a library of skills")
	ErrLimit    = errors.New("it is larger than knack takes")
)

// Mark returns err with a category in addition. Its text stays.
func Mark(category, err error) error {
	if err == nil {
		return nil
	}
	return &categorized{err, category}
}

type categorized struct{ err, category error }

func (m *categorized) Error() string   { return m.err.Error() }
func (m *categorized) Unwrap() []error { return []error{m.err, m.category} }
