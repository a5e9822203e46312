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
	// Signatures returns all signatures, before any is verified. The error, if any, is the reason
	// why there may be more.
	Signatures(ctx context.Context) ([]trust.Signature, error)
}

// Verify fetches the signatures of a library, and nothing else, and verifies them by the rules for
// its source. The error is a [*trust.Refusal] if the library must be refused. If the registry
// cannot list all signatures, that is an error only if a rule exists and no signature that was
// fetched has a trusted key.
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

// Version returns the version of a library whose signatures were judged. For a signed library, it
// is the version that the signature covers. The error is a [*Misnamed] if the requested tag names
// another version.
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

// unclear is the error of a release whose signatures are unknown. It hides the category of its
// cause from [errors.Is]: the size of a signature, for example, is not the size of the release.
type unclear struct {
	ref Ref
	err error
}

func (u *unclear) Error() string {
	return fmt.Sprintf("it is not known whether %s is signed: %v", u.ref, u.err)
}

// As finds the cause by its type, for example the answer of a server that states how long to wait.
func (u *unclear) As(target any) bool { return errors.As(u.err, target) }
