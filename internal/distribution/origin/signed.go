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
	// Signatures returns what is there, whatever it is. The caller judges it. If there may be more,
	// the error says why it is not known.
	Signatures(ctx context.Context) ([]trust.Signature, error)
}

// Judge asks a library for its signatures, and judges them by the rules for its source. Nothing
// else of it has to be fetched. The error is a [*trust.Refusal] if it is not to be taken. If the
// registry does not say what signatures there are, that is an error only if there is a rule, and
// no trusted key among those that it does have.
func Judge(ctx context.Context, p *trust.Policy, ref Ref, l Library) (trust.Verdict, error) {
	var found []trust.Signature
	var failed error
	if s, ok := l.(Signed); ok {
		found, failed = s.Signatures(ctx)
	}
	if ctx.Err() != nil {
		return trust.Verdict{}, ctx.Err()
	}
	v, refused := p.Judge(ref.Source, strings.TrimPrefix(l.Revision().ID, "oci:"), found)
	if failed == nil || v.State == trust.Signed {
		return v, refused
	}
	failed = &unclear{ref, failed}
	if _, ruled := p.Rule(ref.Source); ruled {
		return trust.Verdict{}, failed
	}
	if refused != nil {
		return v, refused
	}
	return trust.Verdict{State: trust.Unclear, Reason: failed.Error()}, nil
}

// Version returns the version of a library whose signatures were judged: of a signed one, the version
// that is signed. The error is a [*Misnamed] if the tag that was asked for is another version.
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

// Misnamed is the error of a tag that is a version, and names a release of another one.
type Misnamed struct{ Tag, Version string }

// Error says which version the release has.
func (m *Misnamed) Error() string {
	return fmt.Sprintf("the tag %s names a release that says it is version %s", display.Echo(m.Tag), display.Echo(m.Version))
}

// unclear says why the signatures of a release are not known. Its cause has no category for
// [errors.Is]: a signature that is too large says nothing about the size of the release.
type unclear struct {
	ref Ref
	err error
}

func (u *unclear) Error() string {
	return fmt.Sprintf("it is not known whether %s is signed: %v", u.ref, u.err)
}

// As finds what the cause is, such as an answer that says how long to wait.
func (u *unclear) As(target any) bool { return errors.As(u.err, target) }
