package install

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
)

// library is an open source with the verdict on its signatures.
type library struct {
	origin.Library
	verdict  trust.Verdict
	at       origin.Revision
	misnamed error // why the requested tag does not fit the version, or nil
}

// Revision returns the library's revision, with the version that its signature covers.
func (l *library) Revision() origin.Revision { return l.at }

// skills returns the skills of the library, and the links and submodules outside of them.
func (l *library) skills(ctx context.Context) ([]origin.Skill, origin.Aside, error) {
	skills, err := l.Skills(ctx)
	if p, ok := l.Library.(origin.Parted); ok && err == nil {
		return skills, p.Aside(), nil
	}
	return skills, origin.Aside{}, err
}

// checkTag refuses a library whose requested tag names another version than its content, unless the
// user accepts that.
func (in *Installer) checkTag(l *library) error {
	if l.misnamed == nil || in.o.AllowDowngrade {
		return nil
	}
	return &Problem{Err: l.misnamed, Fix: "ask its publisher whether the tag was moved; --allow-downgrade of add and update takes it, as the version that it says", No: true}
}

// keepVersion leaves a skill whose source now has a lower version, unless the user accepts that.
// For a signed skill, a missing version counts as lower. It reports whether the step continues.
func (in *Installer) keepVersion(s *Step) bool {
	if s.Do == Fail || s.Do == Leave || s.Was == nil || in.o.AllowDowngrade || s.Was.Source != s.Entry.Source || s.Was.Want != s.Entry.Want {
		return true
	}
	p := &Problem{Fix: "ask its publisher whether the tag was moved back; --allow-downgrade takes it", No: true}
	switch was, next := s.Was.Version, s.Entry.Version; {
	case semver.Lower(next, was):
		p.Err = fmt.Errorf("the version %s is lower than %s, which is locked", next, was)
	case was != "" && next == "" && s.Was.Signer != "":
		p.Err = fmt.Errorf("the release has no version, and %s is locked", was)
	default:
		return true
	}
	s.Do, s.Problem = Leave, p
	return false
}

// open opens a source at a revision, and judges its signatures before anything else is fetched. The
// digests of a locked revision are known, so its signatures are judged only if a rule applies to
// the source. If they are refused, open returns the error and a closed library, which has only the
// revision and the verdict.
func (in *Installer) open(ctx context.Context, ref origin.Ref, at origin.Revision, locked bool) (*library, error) {
	o, err := in.origin(ctx, ref)
	if err != nil {
		return nil, err
	}
	l, err := o.Open(ctx, ref, at)
	if err != nil {
		return nil, ofArchive(ref, err)
	}
	if _, ruled := in.o.Trust.Rule(ref.Source); locked && !ruled {
		return &library{Library: l, at: l.Revision()}, nil
	}
	v, err := origin.Verify(ctx, in.o.Trust, ref, l)
	if err != nil {
		l.Close()
		return &library{Library: l, verdict: v, at: l.Revision()}, err
	}
	j := &library{Library: l, at: l.Revision()}
	j.at.Version, j.misnamed = origin.Version(ref, l, v)
	if v.State == trust.Unclear {
		in.warn("%s", v.Reason)
	}
	if _, can := l.(origin.Signed); !can {
		v = trust.Verdict{} // this kind of source cannot be signed
	}
	j.verdict = v
	return j, nil
}

// ofArchive adds a fix to the error of a server that does not return an archive. The fix proposes a
// download with a browser.
func ofArchive(ref origin.Ref, err error) error {
	if ref.Kind != origin.Archive || filepath.IsAbs(ref.Location) {
		return err
	}
	p := ProblemOf(err)
	if p.Fix == "" {
		p.Fix = "see whether a browser gets it: its download is added as ./FILE (a zip or a tar.gz), or unpacked as ./FOLDER"
	}
	return p
}

// sign sets the verdict and the signer of a step. If several trusted signers signed the source, the
// locked signer stays.
func (in *Installer) sign(s *Step, v trust.Verdict) {
	if was, ok := in.lock.Skills[s.Key]; ok {
		v = v.By(was.Signer)
	}
	s.Signature, s.Entry.Signer = v, v.Signer
}

// keepSigner leaves a signed skill whose source is now signed by another key, or not at all,
// unless the user accepts that. It reports whether the step continues.
func (in *Installer) keepSigner(s *Step) bool {
	if s.Do == Fail || s.Do == Leave || s.Was == nil || s.Was.Signer == "" || s.Was.Signer == s.Entry.Signer || in.o.AcceptSigner {
		return true
	}
	was := trust.ShortID(s.Was.Signer)
	p := &Problem{Fix: "if its publisher says so, --accept-signer takes it", No: true}
	_, ruled := in.o.Trust.Rule(s.Entry.Source)
	switch v := s.Signature; {
	case v.State == trust.Signed:
		p.Err = fmt.Errorf("the lock says that %s signed it, and now %s does", was, trust.ShortID(v.Signer))
	case v.State == trust.UnknownSigner && !ruled:
		p.Err = fmt.Errorf("the lock says that %s signed it, and your knack.yaml has no key under trust to check that with", was)
		p.Fix = "add the publisher's key there ('knack help settings'); --accept-signer takes it unchecked"
	default:
		p.Err = fmt.Errorf("the lock says that %s signed it, and now it is %s", was, v.Short())
	}
	s.Do, s.Problem = Leave, p
	return false
}

// requireSigner checks the signer of a lock's entry against the rules. If a rule requires a
// signature by other keys, the step gets the action do and the problem.
func (in *Installer) requireSigner(s *Step, do Action) {
	var r *trust.Refusal
	if errors.As(in.o.Trust.Locked(s.Entry.Source, s.Entry.Signer), &r) {
		s.Do, s.Problem = do, ProblemOf(r)
	}
}

// lookForSigners fetches the signatures of unchanged skills if a rule for their source does not
// trust the locked signer. The rule may be newer than the lock, or the source may have been
// unsigned then.
func (in *Installer) lookForSigners(ctx context.Context, steps []*Step) {
	type state struct{ source, want, revision string }
	groups, order := map[state][]*Step{}, []state(nil)
	for _, s := range steps {
		if s.Was == nil || s.Do != Nothing && s.Do != Pinned {
			continue
		}
		if rule, ruled := in.o.Trust.Rule(s.Was.Source); !ruled || rule.Trusts(s.Was.Signer) {
			continue
		}
		k := state{s.Was.Source, s.Was.Want, s.Was.Revision}
		if groups[k] == nil {
			order = append(order, k)
		}
		groups[k] = append(groups[k], s)
	}
	for _, k := range order {
		v, err := in.signerOf(ctx, k.source, k.want, origin.Revision{ID: k.revision})
		for _, s := range groups[k] {
			if err != nil {
				s.Do, s.Problem = Fail, ProblemOf(err)
				continue
			}
			if v.State != trust.Signed {
				continue // still no trusted signature
			}
			in.sign(s, v)
			if in.keepSigner(s) && s.Do == Pinned && s.Entry.Signer != s.Was.Signer {
				if in.decide(ctx, s); s.Do != Record {
					s.Do, s.Problem = Pinned, nil
				}
			}
		}
	}
}

// signerOf returns the verdict on the signatures of a locked source.
func (in *Installer) signerOf(ctx context.Context, source, want string, at origin.Revision) (trust.Verdict, error) {
	ref, err := origin.Locked(source, want, in.o.Root, in.o.Home)
	if err != nil {
		return trust.Verdict{}, refProblem(source, err)
	}
	l, err := in.open(ctx, ref, at, false)
	if err != nil {
		return trust.Verdict{}, err
	}
	return l.verdict, l.Close()
}
