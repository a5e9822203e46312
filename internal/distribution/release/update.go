package release

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	"github.com/knack-dev/knack/internal/base/semver"
	"github.com/knack-dev/knack/internal/distribution/origin"
	"github.com/knack-dev/knack/internal/distribution/pull"
	"github.com/knack-dev/knack/internal/distribution/store"
)

// Rules decide which releases of a source may become its head. knack pull and servers apply the
// same rules.
type Rules struct {
	ForwardOnly bool   // no lower version than was served before
	MinVersion  string // or ""
	// Trusts reports whether a signer may sign releases of the source. If nil, every signer may.
	Trusts func(signer string) bool
}

// TooLow is the error of a release whose version is below the rules' minimum.
type TooLow struct {
	Release store.Release
	message string
}

// Error names the version and the fix.
func (l *TooLow) Error() string { return l.message }

// Check returns a [*TooLow] if the version of a release is too low, or nil. highest has the highest
// served versions, by signer. stored is set for the release that was served last. With ForwardOnly
// alone, that release may lack a version if no served release had one.
func (u Rules) Check(r store.Release, highest map[string]string, stored bool) error {
	most, known := u.highest(highest, r.Signer)
	if u.MinVersion == "" && (!u.ForwardOnly || stored && !known) {
		return nil
	}
	low := func(format string, args ...any) error { return &TooLow{r, fmt.Sprintf(format, args...)} }
	switch _, ok := semver.ParseShort(r.Version); {
	case !ok && u.ForwardOnly:
		return low("the release %s has no version such as 1.4.0, which forward-only needs: publish it with one", short(r.Digest))
	case !ok:
		return low("the release %s has no version such as 1.4.0, which min-version needs: publish it with one", short(r.Digest))
	case semver.Lower(r.Version, u.MinVersion):
		return low("the version %s is lower than min-version, %s: publish the content as a new version, or lower min-version", r.Version, u.MinVersion)
	case u.ForwardOnly && known && semver.Lower(r.Version, most):
		return low("the version %s is lower than %s, which was served before, and forward-only is set: publish the content as a new version", r.Version, most)
	}
	return nil
}

// highest returns the highest served version that counts for a release by a signer. The versions of
// all trusted signers count. Releases by other signers, and unsigned releases, do not hold back a
// signed release. A release without a verified signature is compared with all served versions,
// since anyone with push access could have made it.
func (u Rules) highest(all map[string]string, signer string) (version string, ok bool) {
	for by, v := range all {
		counts := signer == "" || by == signer || by != "" && (u.Trusts == nil || u.Trusts(by))
		if counts && (version == "" || semver.Lower(version, v)) {
			version, ok = v, true
		}
	}
	return version, ok
}

// short returns the beginning of a digest, for people.
func short(digest string) string { return digest[:min(len(digest), 19)] }

// maxPast is the maximum number of past releases that a head lists.
const maxPast = 4

// Next returns the head of a source after the release r replaces the release of the previous head,
// was.
func Next(was store.Head, r store.Release, since time.Time) store.Head {
	h := store.Head{Release: r.Digest, Since: since, Judged: r.Judged, Highest: Highest(was)}
	if h.Previous = was.Release; was.Release == r.Digest {
		h.Previous = was.Previous
	}
	h.Past = slices.DeleteFunc(slices.Clone(was.Past), func(p store.Past) bool { return p.Release == r.Digest || p.Release == was.Release })
	if was.Release != "" && was.Release != r.Digest {
		h.Highest = Served(h.Highest, store.Release{Judged: was.Judged})
		h.Past = slices.Insert(h.Past, 0, store.Past{Release: was.Release, Judged: was.Judged})
	}
	h.Past = h.Past[:min(len(h.Past), maxPast)]
	return h
}

// Highest returns the highest versions by signer that were served or pulled before the head.
func Highest(h store.Head) map[string]string {
	all := h.Highest
	for _, p := range h.Past {
		all = Served(all, store.Release{Judged: p.Judged})
	}
	return all
}

// Served returns the highest versions by signer after a release is served.
func Served(highest map[string]string, r store.Release) map[string]string {
	all := maps.Clone(highest)
	if all == nil {
		all = map[string]string{}
	}
	if _, ok := semver.ParseShort(r.Version); ok && (all[r.Signer] == "" || semver.Lower(all[r.Signer], r.Version)) {
		all[r.Signer] = r.Version
	}
	return all
}

// Last returns the newest release before the head that is completely stored and that admit
// accepts.
func Last(s *store.Store, h store.Head, admit func(store.Release) error) (store.Release, bool) {
	for _, p := range h.Past {
		r, err := s.Release(p.Release)
		if r.Judged = p.Judged; err == nil && admit(r) == nil && s.Whole(r) {
			return r, true
		}
	}
	return store.Release{}, false
}

// Puller resolves sources and brings their releases into the store. [pull.Puller] implements it.
type Puller interface {
	Resolve(ctx context.Context, ref origin.Ref) (origin.Revision, error)
	Pull(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, pull.Report, error)
	Look(ctx context.Context, ref origin.Ref, at origin.Revision) (store.Release, pull.Report, error)
}

// Request has the arguments of [Update].
type Request struct {
	Ref   origin.Ref
	Rules Rules
	// AllowDowngrade accepts a lower version than the head's. The rules still apply.
	AllowDowngrade bool
	DryRun         bool // only look
	// Have returns the present state. Update calls it when the source has answered, and again when
	// the release was fetched.
	Have func() (State, error)
	// Set, if not nil, makes a release the source's head. Without Set, the caller sets the head
	// later.
	Set func(store.Head) error
}

// State is the stored state of a source before an update.
type State struct {
	Head    store.Head    // zero if the source has no head
	Release store.Release // the release of Head
	Whole   bool          // the release is completely stored, and its signer is trusted
	Unsure  bool          // its signatures are to be judged again
	Waits   string        // the fetched revision that becomes the head later, or ""
	// Fails, if not nil, returns why a revision need not be fetched again, or nil.
	Fails func(revision string) error
}

// Updated is the result of [Update].
type Updated struct {
	At              origin.Revision // the revision that the source has; its ID is empty if the source did not answer
	Release, Before store.Release   // Before is zero before the first release; Release is zero if one waits
	Same            bool            // the head stays, or the release already waits
	Report          pull.Report
}

// Update resolves a source, compares it with its head, and fetches new content if the rules allow
// it. With [Request.Set] it makes the content the head, as knack pull does. A server does so later,
// at the time that all replicas share.
func Update(ctx context.Context, p Puller, q Request) (u Updated, err error) {
	at, err := p.Resolve(ctx, q.Ref)
	have, damage := q.Have()
	u.Before = have.Release
	if err = errors.Join(err, damage); err != nil {
		return u, err
	}
	u.At = at
	bring := p.Pull
	if q.DryRun {
		bring = p.Look
	}
	switch known := at.ID != "" && at.ID == have.Release.Revision; { // without an ID, only the skills show whether the release is new
	case at.ID != "" && at.ID == have.Waits:
		u.Same = true
		return u, nil
	case known && have.Whole && have.Unsure:
		bring = p.Look
	case known && have.Whole:
		u.Release, u.Same = u.Before, true
		return u, q.check(u.Before, u.Before, have.Head)
	case at.ID != "" && have.Fails != nil:
		err = have.Fails(at.ID)
	}
	if err != nil {
		return u, err
	}
	if u.Release, u.Report, err = bring(ctx, q.Ref, at); err != nil {
		return u, err
	}
	if have, err = q.Have(); err != nil { // a server may have moved the head meanwhile
		return u, err
	}
	u.Same = u.Release.Digest == have.Head.Release
	if err := q.check(u.Release, u.Before, have.Head); err != nil || q.DryRun || q.Set == nil || u.Same && u.Release.Judged == have.Head.Judged {
		return u, err
	}
	since := u.Release.At
	if u.Same {
		since = have.Head.Since
	}
	return u, q.Set(Next(have.Head, u.Release, since))
}

// check refuses a release that the rules do not allow, or that is lower than the head.
func (q Request) check(r, before store.Release, head store.Head) error {
	if q.Set == nil && r.Digest == head.Release {
		return nil // a server checked the release before serving it
	}
	if err := q.Rules.Check(r, Highest(head), r.Digest == before.Digest); err != nil {
		return err
	}
	if !q.AllowDowngrade && semver.Lower(r.Version, head.Version) {
		return &TooLow{r, fmt.Sprintf("the version %s is lower than %s, which was pulled or served before: --allow-downgrade takes it", r.Version, head.Version)}
	}
	return nil
}

// Stored returns the function for [Request.Have] that returns the state of a source in the store.
// Stored begins to read the store at once, so that Update does not wait for the disk after the
// source has answered.
func Stored(p *pull.Puller, ref origin.Ref) func() (State, error) {
	var s State
	var err error
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.Head, s.Release, err = Head(p.Store, ref.String())
		s.Whole = p.Store.Whole(s.Release) && p.Trust.Locked(ref.Source, s.Release.Signer) == nil
	}()
	again := false
	return func() (State, error) {
		if <-read; again {
			s.Head, s.Release, err = Head(p.Store, ref.String())
		}
		again = true
		return s, err
	}
}

// Head returns the head of a source, and its release if the store still has the record. Without a
// head, both are zero. A damaged head is an error: a server with forward-only would lose the
// versions that it served.
func Head(s *store.Store, source string) (head store.Head, r store.Release, err error) {
	head, err = s.Head(source)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return store.Head{}, store.Release{}, nil
	case err != nil:
		return store.Head{}, store.Release{}, err
	}
	r, _ = s.Release(head.Release)
	return head, head.Of(r), nil
}
