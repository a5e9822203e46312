package install

import (
	"context"
	"errors"
	"fmt"

	"github.com/knack-dev/knack/internal/distribution/lockfile"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
)

// Release is the content of a source at one revision.
type Release struct {
	Source    string // as typed
	Revision  origin.Revision
	Signature trust.Verdict // its State is "" if a source of this kind has no signatures
	Skills    []Verified
}

// Verified is a skill of a [Release].
type Verified struct {
	Name, Path string
	Digest     skill.Digest
	Files      int
	files      []lockfile.File
	Err        error // why it cannot be installed
}

// Faults counts the skills that cannot be installed.
func (r Release) Faults() (n int) {
	for _, s := range r.Skills {
		if s.Err != nil {
			n++
		}
	}
	return n
}

// VerifySource judges the signatures of a source's present state, and fetches all its skills into
// the store, which checks the digests. If the signatures are refused, it fetches nothing, and the
// release has only the revision and the verdict. The error is a [*Problem], or [ProblemOf] converts
// it.
func (in *Installer) VerifySource(ctx context.Context, text string) (Release, error) {
	ref, err := origin.ParseTyped(text, in.o.Dir, in.o.Home)
	if err != nil {
		return Release{}, refProblem(text, err)
	}
	r := Release{Source: ref.String()}
	l, err := in.open(ctx, ref, origin.Revision{}, false)
	if l != nil {
		r.Revision, r.Signature = l.Revision(), l.verdict
	}
	if err != nil {
		return r, ProblemOf(err)
	}
	defer l.Close()
	if err := in.checkTag(l); err != nil {
		return r, ProblemOf(err)
	}
	skills, err := l.Skills(ctx)
	if err != nil {
		return r, ProblemOf(err)
	}
	got, err := in.take(ctx, l, skills)
	if errors.Is(err, origin.ErrLimit) {
		err = fmt.Errorf("%s: %w", ref, err)
	}
	if err != nil {
		return r, ProblemOf(err)
	}
	for _, s := range skills {
		g := got[s.Path]
		r.Skills = append(r.Skills, Verified{nameOf(s, ref), s.Path, g.skill.Digest, len(g.skill.Files), g.skill.Files, g.err})
	}
	return r, nil
}
