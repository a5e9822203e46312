package pull

import (
	"errors"

	"github.com/knack-dev/knack/internal/distribution/archive"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
)

// Reason is the reason for refusing a release, as opposed to a source that cannot be reached.
type Reason string

// The reasons.
const (
	Gone      Reason = "gone"      // the source does not have the tag or the release
	NoSkills  Reason = "no-skills" // the source is not a library of skills
	Signature Reason = "signature" // the release has no trusted signature
	Version   Reason = "version"   // the tag names another version, or forward-only or min-version forbid it
	Limit     Reason = "limit"     // the release is larger than a release may be
	Disk      Reason = "disk"      // the store has no room for the release, or cannot be read or written
)

// Reasons lists the reasons in their order in metrics.
var Reasons = []Reason{Gone, NoSkills, Signature, Version, Limit, Disk}

// ReasonOf returns the reason for refusing a release, given an error of [Puller.Resolve] or
// [Puller.Pull]. It is "" if the source did not answer, or not completely: a later attempt may
// succeed.
func ReasonOf(err error) Reason {
	var full *store.Fault
	var refused *trust.Refusal
	switch {
	case errors.As(err, &full):
		return Disk
	case errors.As(err, &refused):
		return Signature
	case errors.As(err, new(*origin.Misnamed)):
		return Version
	case errors.Is(err, origin.ErrGone):
		return Gone
	case errors.Is(err, origin.ErrLimit):
		return Limit
	case errors.As(err, new(noLibrary)), errors.Is(err, origin.ErrNoSkills), errors.Is(err, archive.ErrRefused), errors.Is(err, origin.ErrName):
		return NoSkills
	}
	return ""
}

// noLibrary is the error of a source that is not a library of skills. Its reason is [NoSkills].
type noLibrary struct{ error }

func (e noLibrary) Unwrap() error { return e.error }
