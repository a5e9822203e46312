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

// Rules say which releases of a source may become its head. knack pull and servers apply the same
// rules.
type Rules struct {
	ForwardOnly bool   // to no lower version than was served
	MinVersion  string // or ""
	// Trusts reports whether a signer may sign releases of the source. nil trusts all.
	Trusts func(signer string) bool
}

// TooLow is the error of a release whose version is below the rules' minimum.
type TooLow struct {
	Release store.Release
	message string
}

// Error names the version and the fix.
func (l *TooLow) Error() string { return l.message }

// Check returns why the version of a release is too low, as a [*TooLow], or nil. highest has the
// highest served versions, by signer. With ForwardOnly alone, the release that the store has at
// the start may lack a version, if no served release had one.
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

// highest returns the highest served version that counts for a release by a signer. The versions
// of all trusted signers count. Releases by others, and unsigned ones, do not hold back a signed
// release. A release without a verified signature is compared with all: anybody could have made
// it.
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

// maxPast bounds the releases that a head remembers.
const maxPast = 4

// Next returns the head of a source after a release has replaced the one before.
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

// Served returns the highest versions by signer once a release is served.
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

// Request is the request of [Update].
type Request struct {
	Ref   origin.Ref
	Rules Rules
	// AllowDowngrade accepts a lower version than the head's. The rules hold nevertheless.
	AllowDowngrade bool
	DryRun         bool // only look
}

// Updated is the result of [Update].
type Updated struct {
	Release, Before store.Release // Before is zero if the store had none
	Same            bool          // the head stays
	Report          pull.Report
}

// Update resolves a source, compares it with its head, fetches new content, and makes it the head
// if the rules allow it.
func Update(ctx context.Context, p *pull.Puller, q Request) (u Updated, err error) {
	// The store is checked during the request to the source: usually it has all content already.
	var (
		damage error
		head   store.Head
		whole  bool
		looked = make(chan struct{})
		from   = q.Ref.String()
	)
	go func() {
		defer close(looked)
		head, u.Before, damage = Head(p.Store, from)
		whole = p.Store.Whole(u.Before)
	}()
	at, err := p.Resolve(ctx, q.Ref)
	<-looked
	if err = errors.Join(err, damage); err != nil {
		return u, err
	}
	if whole && p.Is(q.Ref, at, u.Before) {
		u.Release, u.Same = u.Before, true
		return u, q.check(u.Before, u.Before, head)
	}
	bring := p.Pull
	if q.DryRun {
		bring = p.Look
	}
	if u.Release, u.Report, err = bring(ctx, q.Ref, at); err != nil {
		return u, err
	}
	if head, _, err = Head(p.Store, from); err != nil { // a server may have set it meanwhile
		return u, err
	}
	if err := q.check(u.Release, u.Before, head); err != nil || q.DryRun {
		return u, err
	}
	if u.Same = u.Release.Digest == head.Release; u.Same && u.Release.Judged == head.Judged {
		return u, nil
	}
	since := u.Release.At
	if u.Same {
		since = head.Since
	}
	return u, p.Store.SetHead(from, Next(head, u.Release, since))
}

// check refuses a release that the rules do not allow, or that is lower than the head.
func (q Request) check(r, before store.Release, head store.Head) error {
	if err := q.Rules.Check(r, Highest(head), r.Digest == before.Digest); err != nil {
		return err
	}
	if !q.AllowDowngrade && semver.Lower(r.Version, head.Version) {
		return &TooLow{r, fmt.Sprintf("the version %s is lower than %s, which was pulled or served before: --allow-downgrade takes it", r.Version, head.Version)}
	}
	return nil
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
