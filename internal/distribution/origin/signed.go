package origin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/trust"
)

// Signed is a [Library] that may have signatures beside it.
type Signed interface {
	// Signatures returns all signatures, unjudged. If there may be more, the error gives the
	// reason.
	Signatures(ctx context.Context) ([]trust.Signature, error)
}

// Verify asks a library for its signatures, and verifies them by the rules for its source. It
// fetches nothing else. The error is a [*trust.Refusal] if the library must be refused. A registry that
// cannot list the signatures is an error only if a rule exists and the signatures at hand have no
// trusted key.
func Verify(ctx context.Context, rules trust.Rules, ref Ref, l Library) (trust.Verdict, error) {
	var found []trust.Signature
	var failed error
	if s, ok := l.(Signed); ok {
		found, failed = s.Signatures(ctx)
	}
	if ctx.Err() != nil {
		return trust.Verdict{}, ctx.Err()
	}
	v, refused := rules.Verify(ref.Source, strings.TrimPrefix(l.Revision().ID, "oci:"), found)
	if failed == nil || v.State == trust.Signed {
		return v, refused
	}
	failed = &unclear{ref, failed}
	if _, ruled := rules.Rule(ref.Source); ruled {
		return trust.Verdict{}, failed
	}
	if refused != nil {
		return v, refused
	}
	return trust.Verdict{State: trust.Unclear, Reason: failed.Error()}, nil
}

// Version returns the version of a library whose signatures were judged: for a signed one, the
// signed version. The error is a [*Misnamed] if the requested tag is another version.
func Version(ref Ref, l Library, v trust.Verdict) (string, error) {
	at := l.Revision()
	if v.State == trust.Signed {
		at.Version = at.Said
	}
	if ref.Kind != OCI || ref.Digest != "" || at.Said == "" || semver.Names(ref.Want, at.Version) {
		return at.Version, nil
	}
	return at.Version, &Misnamed{Tag: ref.Want, Version: at.Version}
}

// Misnamed is the error of a version tag that names a release of another version.
type Misnamed struct{ Tag, Version string }

// Error names the tag and the release's version.
func (m *Misnamed) Error() string {
	return fmt.Sprintf("the tag %s names a release that says it is version %s", display.Echo(m.Tag), display.Echo(m.Version))
}

// unclear says why the signatures of a release are unknown. It hides the category of its cause
// from [errors.Is]: a signature that is too large says nothing about the size of the release.
type unclear struct {
	ref Ref
	err error
}

func (u *unclear) Error() string {
	return fmt.Sprintf("it is not known whether %s is signed: %v", u.ref, u.err)
}

// As finds the type of the cause, such as an answer that says how long to wait.
func (u *unclear) As(target any) bool { return errors.As(u.err, target) }
