// Package pull brings a library of skills into the store, as one release. A release is stored
// whole or not at all. The received parts of a release stay in the store for the next attempt.
package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/knack-dev/knack/internal/base/display"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/store"
	"github.com/knack-dev/knack/internal/distribution/trust"
	"github.com/knack-dev/knack/skill"
)

// Puller pulls releases. Its methods may be called from several goroutines.
type Puller struct {
	// Origins returns the reader of a kind of source.
	Origins func(origin.Kind) (origin.Origin, error)
	Store   *store.Store
	// Trust has the rules about signatures. The signatures of a library are checked before anything
	// else of it is fetched.
	Trust trust.Rules
	// AllowDowngrade accepts a release under the tag of another version.
	AllowDowngrade bool
	// Clean, if not nil, removes the source's credentials from the reason of a fault.
	Clean func(text string) string
	// Now is the clock; nil is the system's.
	Now func() time.Time
	// Progress is called now and then, from several goroutines. It may be nil.
	Progress func(Report)
}

// Report is the progress of a pull.
type Report struct {
	Source string // with its reference
	// Layers counts the layers with skills, and Done the layers that the store has now. Both are 0
	// if the source has no such layers. Fetched counts the layers that were missing before.
	Layers, Done, Fetched int
	// Bytes counts received packed bytes, and Total the bytes to fetch.
	Bytes, Total int64
	Skills       int // of the release, at the end
}

// Resolve returns the source's present revision. For a registry, it sends one HEAD request.
func (p *Puller) Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error) {
	o, err := p.Origins(ref.Kind)
	if err != nil {
		return origin.Revision{}, err
	}
	return o.Resolve(ctx, ref)
}

// Pull brings the source's release at a revision into the store, and records it. With an empty ID,
// the revision is the present one. The caller decides whether the release becomes the source's
// head.
func (p *Puller) Pull(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, Report, error) {
	w := &work{Puller: p, report: Report{Source: ref.String()}}
	r, err := w.pull(ctx, ref, at)
	return r, w.current(), err
}

// Look returns the result that [Puller.Pull] would have, without the skills. It fetches no layer
// and writes nothing.
func (p *Puller) Look(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, Report, error) {
	w := &work{Puller: p, report: Report{Source: ref.String()}}
	lib, r, err := w.open(ctx, ref, at)
	if err != nil {
		return store.Release{}, Report{}, err
	}
	defer lib.Close()
	_, _, err = w.missing(packsOf(lib))
	r.Digest, _ = strings.CutPrefix(r.Revision, "oci:")
	return r, w.current(), err
}

// packsOf returns the packs of a library, or nil if it has none.
func packsOf(lib origin.Library) []origin.Pack {
	if packed, ok := lib.(origin.Packed); ok {
		return packed.Packs()
	}
	return nil
}

// open opens a library and judges its signatures.
func (w *work) open(ctx context.Context, ref origin.Ref, at origin.Revision) (lib origin.Library, r store.Release, err error) {
	o, err := w.Origins(ref.Kind)
	if err != nil {
		return nil, r, err
	}
	if lib, err = o.Open(ctx, ref, at); err != nil {
		return nil, r, err
	}
	r = store.Release{Revision: lib.Revision().ID}
	v, err := origin.Verify(ctx, w.Trust, ref, lib)
	if err == nil {
		r.Version, err = origin.Version(ref, lib, v)
		if w.AllowDowngrade && errors.As(err, new(*origin.Misnamed)) {
			err = nil
		}
	}
	if err != nil {
		lib.Close()
		return nil, r, err
	}
	if _, can := lib.(origin.Signed); can {
		r.Signature, r.Signer = string(v.State), v.Signer
	}
	return lib, r, nil
}

func (w *work) pull(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, error) {
	lib, r, err := w.open(ctx, ref, at)
	if err != nil {
		return store.Release{}, err
	}
	defer lib.Close()
	batch, err := w.Store.Batch(ctx)
	if err != nil {
		return store.Release{}, err
	}
	defer batch.Close()
	if packs := packsOf(lib); packs != nil {
		r.Skills, err = w.packs(ctx, lib.(origin.Packed), packs, batch)
		for _, p := range packs {
			r.Layers = append(r.Layers, p.Digest)
		}
	} else {
		whole := true
		r.Skills, whole, err = w.fetchLibrary(ctx, ref, lib, batch)
		if r.Revision = lib.Revision().ID; !whole {
			r.Revision = "" // the next poll tries the faulty skills again
		}
	}
	if err != nil {
		return store.Release{}, cmp.Or(ctx.Err(), err)
	}
	for i := range r.Skills {
		if m := &r.Skills[i]; m.Fault != "" && w.Clean != nil {
			m.Fault = w.Clean(m.Fault)
		}
	}
	slices.SortFunc(r.Skills, func(a, b store.Member) int { return strings.Compare(a.Path, b.Path) })
	if err := checkCount(r.Skills, w.report.Source); err != nil {
		if r.Revision == "" {
			err = &origin.Outage{Err: err}
		}
		return store.Release{}, err
	}
	r.Digest = digestOf(ref, r)
	now := time.Now
	if w.Now != nil {
		now = w.Now
	}
	r.At = now().UTC()
	w.update(func(to *Report) { to.Skills = len(r.Skills) })
	return r, w.Store.Record(r)
}

// fetchLibrary fetches a library that is not in packs. A skill that the source lists as faulty
// becomes a member with that fault. If a skill fails while it is fetched, the pull fails, unless
// the library is [origin.Separate]. whole reports whether the members are all skills of the
// library's revision.
func (w *work) fetchLibrary(ctx context.Context, ref origin.Ref, lib origin.Library, batch *store.Batch) (members []store.Member, whole bool, err error) {
	skills, err := lib.Skills(ctx)
	if err != nil {
		return nil, false, err
	}
	if separate, ok := lib.(origin.Separate); ok {
		f := &separately{work: w, ref: ref, batch: batch, lib: separate}
		defer f.close()
		return f.fetch(ctx, skills)
	}
	sound := origin.Sound(skills)
	if err := batch.Expect(sound); err != nil {
		return nil, false, fmt.Errorf("%s: %w", w.report.Source, err)
	}
	if err := cmp.Or(lib.Fetch(ctx, sound, batch), batch.Err()); err != nil {
		return nil, false, err
	}
	members, err = finish(batch, skills)
	return members, true, err
}

type finisher interface {
	Finish(path string) (store.Skill, error)
}

// finish moves completely fetched skills to their places in the store.
func finish(batch finisher, skills []origin.Skill) ([]store.Member, error) {
	members := make([]store.Member, 0, len(skills))
	for _, s := range skills {
		m := store.Member{Path: s.Path}
		if s.Fault != nil {
			m.Fault = s.Fault.Error()
		} else {
			k, err := batch.Finish(s.Path)
			if err != nil {
				return nil, fmt.Errorf("the skill %s: %w", display.Quote(s.Path), err)
			}
			if s.Digest != "" && s.Digest != k.Digest.String() {
				return nil, fmt.Errorf("the skill %s does not have the digest that its source names: try again later, or tell its author", display.Quote(s.Path))
			}
			m = k.Member(s.Path)
		}
		members = append(members, m)
	}
	return members, nil
}

// checkCount refuses a release without skills, and one with too many.
func checkCount(skills []store.Member, source string) error {
	if len(skills) > origin.MaxSkills {
		return fmt.Errorf("%s: %w", source, origin.TooManySkills(len(skills)))
	}
	if !slices.ContainsFunc(skills, func(m store.Member) bool { return m.Fault == "" }) {
		err := fmt.Errorf("%s has no skills", source)
		if len(skills) > 0 {
			err = fmt.Errorf("%s has no skill that can be taken: %s: %s", source, display.Quote(skills[0].Path), skills[0].Fault)
		}
		return noLibrary{err}
	}
	return nil
}

// digestOf returns the digest that identifies a release: the digest of its manifest if it has one.
// Otherwise it is a digest of its source, its revision and its skills. It does not cover the words
// of a fault, which may contain a digest or a number that differs each time.
func digestOf(ref origin.Ref, r store.Release) string {
	if digest, ok := strings.CutPrefix(r.Revision, "oci:"); ok {
		return digest
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %q\n", ref.Source, ref.Sub, r.Revision)
	for _, m := range r.Skills {
		fmt.Fprintf(&b, "%s %t %q\n", m.Skill, m.Fault != "", m.Path)
	}
	return skill.DigestOf([]byte(b.String())).String()
}
